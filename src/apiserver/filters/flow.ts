import { StatusError } from '../../apimachinery/status-error.ts';
import { type ApiRequest, isLongRunning } from '../request/request.ts';
import type { Handler } from '../request/handler.ts';

/** How many requests the server handles at once. Watches, streams and administrators are not counted. */
export interface FlowLimits {
  /** Requests that are handled at the same time; kube-apiserver has 600 seats. */
  readonly inFlight: number;
  /** Requests that wait for a seat; with more the server answers 429. */
  readonly waiting: number;
}

const usualLimits: FlowLimits = { inFlight: 600, waiting: 5000 };

const tooMany = (): StatusError =>
  new StatusError(429, 'TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
    headers: { 'Retry-After': '1' },
  });

const isExempt = (request: ApiRequest): boolean =>
  isLongRunning(request) || request.user.groups.includes('system:masters');

/** Handles a bounded number of requests at once; others wait in the order in which they came, or are refused with 429. */
export function withFlowControl(given: FlowLimits | undefined, next: Handler): Handler {
  const limits = given ?? usualLimits;
  let busy = 0;
  const queue: (() => void)[] = [];
  const seat = (): Promise<void> | undefined => {
    if (busy < limits.inFlight) {
      busy++;
      return undefined;
    }
    if (queue.length >= limits.waiting) throw tooMany();
    return new Promise((resolve) => queue.push(resolve));
  };
  const leave = (): void => {
    const first = queue.shift();
    // the seat goes to the first that waits
    if (first) first();
    else busy--;
  };
  return async (request, response) => {
    if (isExempt(request)) return next(request, response);
    const waiting = seat();
    if (waiting) await waiting;
    try {
      await next(request, response);
    } finally {
      leave();
    }
  };
}
