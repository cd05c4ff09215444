import { StatusError } from '../../apimachinery/status-error.ts';
import { type ApiRequest, isLongRunning } from '../request/request.ts';
import type { Handler } from '../request/handler.ts';

/** Limits on concurrent requests. Watches, streams and administrators are not counted. */
export interface FlowLimits {
  /** Maximum number of concurrent requests; kube-apiserver has 600 seats. */
  readonly inFlight: number;
  /** Maximum number of waiting requests; beyond it the server answers 429. */
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

/** Limits the number of concurrent requests; others wait in order of arrival, or are rejected with 429. */
export function withFlowControl(configured: FlowLimits | undefined, next: Handler): Handler {
  const limits = configured ?? usualLimits;
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
    // the seat goes to the first in the queue
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
