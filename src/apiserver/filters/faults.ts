import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import type { Handler } from '../request/handler.ts';
import { type ApiRequest, verbOf } from '../request/request.ts';

/** Which requests a fault applies to: those that fit every member that is there. */
export interface FaultMatch {
  /** As in audit events: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verbs?: readonly string[];
  /** API groups; `''` is the core group. */
  readonly groups?: readonly string[];
  /** Plural names. */
  readonly resources?: readonly string[];
  /** `''`: the resource itself. */
  readonly subresources?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
  /** User names. */
  readonly users?: readonly string[];
}

/** A failure of the server that a test wants. */
export interface Fault {
  /** Absent: every request. */
  readonly match?: FaultMatch;
  /** The first matching requests that pass unharmed. Default: 0. */
  readonly skip?: number;
  /** How often it strikes. Default: until it is removed. */
  readonly times?: number;
  /** Chance that it strikes, 0 to 1. Default: 1. */
  readonly probability?: number;
  /** How long the request waits first, ms. */
  readonly delayMs?: number;
  /** The answer in place of the request's own. */
  readonly error?: {
    readonly status: number;
    /** Default: the one that belongs to the status. */
    readonly reason?: string;
    readonly message?: string;
    /** Sent as `Retry-After`. */
    readonly retryAfterSeconds?: number;
  };
  /** Closes the connection: `before` the request takes effect, or `after` it, so that the client cannot know whether it did. */
  readonly disconnect?: 'before' | 'after';
}

/** A fault that has been added. */
export interface InjectedFault {
  /** How often it has struck. */
  readonly hits: number;
  remove(): void;
}

const reasons: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [410, 'Expired'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
]);

interface Active {
  readonly fault: Fault;
  requests: number;
  hits: number;
}

/** Faults lets the requests of a test fail: with errors, delays, and connections that end. */
export class Faults {
  readonly #active = new Set<Active>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * Adds a fault; of several that match a request the first one strikes.
   *
   * @example
   * server.faults.add({ match: { verbs: ['update'], resources: ['pods'] }, times: 2, error: { status: 409 } });
   */
  add(fault: Fault): InjectedFault {
    const active: Active = { fault, requests: 0, hits: 0 };
    this.#active.add(active);
    return {
      get hits() {
        return active.hits;
      },
      remove: () => void this.#active.delete(active),
    };
  }

  /** Removes all faults. */
  clear(): void {
    this.#active.clear();
  }

  /** Returns the fault that strikes a request. */
  next(request: ApiRequest): Fault | undefined {
    for (const active of this.#active) {
      const { match, skip = 0, times = Infinity, probability = 1 } = active.fault;
      if (active.hits >= times || (match && !fits(match, request))) continue;
      active.requests++;
      if (active.requests <= skip || (probability < 1 && this.#random.float() >= probability)) continue;
      active.hits++;
      return active.fault;
    }
    return undefined;
  }
}

function fits(match: FaultMatch, { method, target, query, user }: ApiRequest): boolean {
  const has = (list: readonly string[] | undefined, value: string | undefined): boolean =>
    list === undefined || (value !== undefined && list.includes(value));
  return (
    has(match.verbs, verbOf(method, target, query)) &&
    has(match.groups, target?.group) &&
    has(match.resources, target?.resource) &&
    has(match.subresources, target?.subresource) &&
    has(match.namespaces, target?.namespace) &&
    has(match.names, target?.name) &&
    has(match.users, user.name)
  );
}

/** Lets requests fail as a test wants; does nothing as long as there are no faults. */
export function withFaults(faults: Faults | undefined, clock: Clock, next: Handler): Handler {
  if (!faults) return next;
  return async (request, response) => {
    const fault = faults.next(request);
    if (!fault) return next(request, response);
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
    });
    if (fault.delayMs !== undefined) await clock.sleep(fault.delayMs, gone.signal).catch(() => undefined);
    if (fault.disconnect === 'before') return void response.destroy();
    if (fault.error) throw errorOf(fault.error);
    if (fault.disconnect === 'after') cut(response);
    await next(request, response);
  };
}

function errorOf({ status, reason, message, retryAfterSeconds }: NonNullable<Fault['error']>): StatusError {
  const named = reason ?? reasons.get(status) ?? 'InternalError';
  return new StatusError(status, named, message ?? `injected fault: ${named}`, {
    ...(retryAfterSeconds !== undefined && {
      details: { retryAfterSeconds },
      headers: { 'Retry-After': String(retryAfterSeconds) },
    }),
  });
}

/** Closes the connection in place of the answer's first byte. */
function cut(response: ServerResponse): void {
  const close = (): ServerResponse => {
    response.destroy();
    return response;
  };
  Object.assign(response, {
    writeHead: close,
    end: close,
    write: () => {
      close();
      return false;
    },
  });
}
