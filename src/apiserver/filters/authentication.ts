import type { Authenticator } from '../authentication/authenticator.ts';
import type { Entrance, Handler } from '../request/handler.ts';

/** Identifies the user of a request, and rejects invalid credentials with 401. */
export const withAuthentication =
  (authenticator: Pick<Authenticator, 'authenticate'>, next: Handler): Entrance =>
  async (request, response) =>
    next({ ...request, user: authenticator.authenticate(request.raw) }, response);
