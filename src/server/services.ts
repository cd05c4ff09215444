import { decodedPath } from '../go/url-path.ts';
import { methodNotAllowed, type Reply, type ServerRequest, serviceNotFound, text } from './reply.ts';

/** A request routed to a service. */
export interface Call {
  readonly request: ServerRequest;
  readonly query: URLSearchParams;
  /** The decoded path segments below the service. */
  readonly parts: readonly string[];
}

export type Handler = (call: Call) => Promise<Reply> | Reply;

/** One route of a service. */
export interface Route {
  readonly methods: readonly string[];
  /**
   * How many path segments there are below the service: `any` number, `some` (one or more), these counts, or the one segment of this
   * name.
   */
  readonly parts: readonly number[] | string;
  readonly handle: Handler;
  /** Media type of the reply; a client that does not accept it gets 406. Without one, only clients that accept anything are served. */
  readonly produces?: string;
}

/**
 * Service is mounted on the server under one or two patterns: a plain handler that takes any method, or routes by method and path depth,
 * as go-restful has them (K1).
 */
export interface Service {
  /** As in Go's `ServeMux`: a trailing slash matches everything below. */
  readonly patterns: readonly string[];
  readonly routes: Handler | readonly Route[];
}

/** Answers a call by the routes of its service. */
export function serve(routes: readonly Route[], call: Call): Promise<Reply> | Reply {
  const fitting = routes.filter(({ parts }) => fits(parts, call.parts));
  if (fitting.length === 0) return serviceNotFound;
  const found = fitting.find(({ methods }) => methods.includes(call.request.method));
  if (!found) return methodNotAllowed(fitting.flatMap(({ methods }) => methods));
  const { produces = '' } = found;
  if (!accepts(call.request.headers.accept, produces))
    return text(406, `406: Not Acceptable\n\nAvailable representations: ${produces}`);
  return found.handle(call);
}

function fits(expected: Route['parts'], parts: readonly string[]): boolean {
  if (expected === 'some') return parts.length > 0;
  if (typeof expected === 'string')
    return expected === 'any' || (parts.length === 1 && parts[0] === expected);
  return expected.includes(parts.length);
}

/** Reports whether an `Accept` header accepts a media type: by its name or with `*` for both parts, since go-restful knows no other wildcard. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '') return true;
  return header.split(',').some((part) => {
    const accepted = part.split(';')[0]?.trim();
    return accepted === '*/*' || (accepted !== '' && accepted === mediaType);
  });
}

/** Returns the decoded segments of `path` below `pattern`; a decoded slash separates segments too, and empty segments in between count. */
export function partsBelow(pattern: string, path: string): readonly string[] {
  const rest = decodedPath(path.slice(pattern.length)).replace(/^\/+|\/+$/g, '');
  return rest === '' ? [] : rest.split('/');
}
