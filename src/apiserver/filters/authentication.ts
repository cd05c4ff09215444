import type { ServerResponse } from 'node:http';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { User } from '../authentication/users.ts';
import type { Entrance, Handler } from '../request/handler.ts';
import type { UnauthenticatedRequest } from '../request/request.ts';

/** Identifies the user of a request, and rejects invalid credentials with 401, of which `failed` is told before. */
export const withAuthentication =
  (
    authenticator: Pick<Authenticator, 'authenticate'>,
    failed: (request: UnauthenticatedRequest, response: ServerResponse) => void,
    next: Handler,
  ): Entrance =>
  async (request, response) => {
    let user: User;
    try {
      user = authenticator.authenticate(request.raw);
    } catch (reason) {
      failed(request, response);
      throw reason;
    }
    return next({ ...request, user }, response);
  };
