import type { ServerResponse } from 'node:http';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { User } from '../authentication/users.ts';
import type { Entrance, Handler } from '../request/handler.ts';
import type { UnauthenticatedRequest } from '../request/request.ts';
import type { AccessMetrics } from './access-metrics.ts';

/** Identifies the user of a request, and rejects invalid credentials with 401, after a call of `failed`. */
export const withAuthentication =
  (
    authenticator: Pick<Authenticator, 'authenticate'>,
    metrics: AccessMetrics,
    failed: (request: UnauthenticatedRequest, response: ServerResponse) => void,
    next: Handler,
  ): Entrance =>
  async (request, response) => {
    const since = metrics.now();
    let user: User;
    try {
      user = authenticator.authenticate(request.raw);
    } catch (reason) {
      metrics.identified(undefined, since);
      failed(request, response);
      throw reason;
    }
    metrics.identified(user, since);
    return next({ ...request, user }, response);
  };
