import type { ServerResponse } from 'node:http';
import type { ApiRequest, UnauthenticatedRequest } from './request.ts';

/** Answers an authenticated request. @throws {StatusError} */
export type Handler = (request: ApiRequest, response: ServerResponse) => Promise<void>;

/** Answers a parsed request before authentication. @throws {StatusError} */
export type Entrance = (request: UnauthenticatedRequest, response: ServerResponse) => Promise<void>;
