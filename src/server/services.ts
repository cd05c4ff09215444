import { decodedPath } from '../go/url-path.ts';
import { methodNotAllowed, type Reply, type ServerRequest, serviceNotFound, text } from './reply.ts';

/** A request on its way to the one who answers it. */
export interface Call {
  readonly request: ServerRequest;
  readonly query: URLSearchParams;
  /** The decoded parts of the path below the service. */
  readonly parts: readonly string[];
}

export type Handler = (call: Call) => Promise<Reply> | Reply;

/** One route of a service. */
export interface Route {
  readonly methods: readonly string[];
  /** How many parts the path has below the service, `any`: however many, `some`: one and more; or the one part that it has, by name. */
  readonly parts: readonly number[] | string;
  readonly handle: Handler;
  /** Media type of the answer; a client that takes no such is told so. Without one, only clients that take anything are served. */
  readonly produces?: string;
}

/**
 * Something that hangs on the server under one or two patterns: a plain handler that takes any method, or routes by method and depth of path,
 * as go-restful has them (K1).
 */
export interface Service {
  /** As Go's `ServeMux` takes them: one that ends in a slash stands for all below it. */
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

function fits(wanted: Route['parts'], parts: readonly string[]): boolean {
  if (wanted === 'some') return parts.length > 0;
  if (typeof wanted === 'string') return wanted === 'any' || (parts.length === 1 && parts[0] === wanted);
  return wanted.includes(parts.length);
}

/** Whether an `Accept` header takes a media type: itself or anything, for go-restful knows no families. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '') return true;
  return header.split(',').some((part) => {
    const wanted = part.split(';')[0]?.trim();
    return wanted === '*/*' || (wanted !== '' && wanted === mediaType);
  });
}

/** The decoded parts of `path` below `pattern`; parts that a decoded slash makes count as well, empty ones between others, too. */
export function partsBelow(pattern: string, path: string): readonly string[] {
  const rest = decodedPath(path.slice(pattern.length)).replace(/^\/+|\/+$/g, '');
  return rest === '' ? [] : rest.split('/');
}
