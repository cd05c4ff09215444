import type { ServerResponse } from 'node:http';
import type { ApiRequest, UnauthenticatedRequest } from './request.ts';

/** Answers a request of a known user. @throws {StatusError} */
export type Handler = (request: ApiRequest, response: ServerResponse) => Promise<void>;

/** Answers a request that has only been read. @throws {StatusError} */
export type Entrance = (request: UnauthenticatedRequest, response: ServerResponse) => Promise<void>;
