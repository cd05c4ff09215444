import type { Clock } from '../../base/clock.ts';
import type { Status } from '../../kube/types.ts';
import { ApiError } from '../client.ts';
import type { HttpAnswer } from './transport.ts';

/** The longest wait that a server may request, ms. */
const longestPutOffMs = 5 * 60_000;

/** Returns the error of a response that is no success. */
export function errorOf(answer: HttpAnswer, method: string, path: string, clock: Clock): ApiError {
  let body: Partial<Status>;
  try {
    const parsed: unknown = JSON.parse(answer.text);
    body = typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    body = { message: answer.text.trim().slice(0, 500) };
  }
  const retryAfterMs = retryAfter(answer.headers['retry-after'], clock);
  const message =
    body.message !== undefined && body.message !== ''
      ? body.message
      : `${method} ${path}: the API server answered ${answer.status}`;
  return new ApiError(
    answer.status,
    { ...body, message },
    retryAfterMs === undefined ? {} : { retryAfterMs },
  );
}

/** Parses seconds or an HTTP date to ms from now. */
function retryAfter(header: string | string[] | undefined, clock: Clock): number | undefined {
  if (typeof header !== 'string') return undefined;
  const seconds = Number(header);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - clock.now();
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), longestPutOffMs);
}
