import { zeroTime as zeroTimeText } from '../kube/time.ts';

/** Values of a query parameter turned into what Kubernetes' option types want. */

/** A flag: absent, `false` and `0` are false, all else is true, the empty text too (K3). */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

const integerPattern = /^[+-]?\d+$/;

/** An integer; absent: not given. @throws {RangeError} for what is none */
export function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const number = Number(value);
  if (!integerPattern.test(value) || !Number.isSafeInteger(number))
    throw new RangeError(`${name} is no integer: ${value}`);
  return number;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Go's zero time, ms since the epoch. */
const zeroTime = Date.parse(zeroTimeText);

/** An instant as RFC 3339, ms since the epoch; absent: not given; an empty text or `null` is Go's zero time. @throws {RangeError} for what is none */
export function instant(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value === '' || value === 'null') return zeroTime;
  const ms = rfc3339.test(value) ? Date.parse(value.replace(',', '.')) : Number.NaN;
  if (Number.isNaN(ms)) throw new RangeError(`${name} is no time: ${value}`);
  return ms;
}
