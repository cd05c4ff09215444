import { parseDuration } from '../../kube/duration.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { Filter } from './jq-functions.ts';

/** A number of a stage for an object; undefined: there is none. @param now ms since the epoch */
export type StageNumber = (object: KubeObject, now: number) => number | undefined;

export const fixed =
  (value: number | undefined): StageNumber =>
  () =>
    value;

const outputOf = (filter: Filter, object: KubeObject): unknown =>
  filter(object).find((value) => value !== null && value !== undefined);

/** Returns the weight that an expression of jq yields: a number, or the text of a whole one. */
export const weightFrom =
  (filter: Filter, otherwise: number): StageNumber =>
  (object) => {
    const output = outputOf(filter, object);
    if (output === undefined) return otherwise;
    const value = typeof output === 'string' && output.trim() === '' ? NaN : Number(output);
    return Number.isFinite(value) ? Math.trunc(value) : undefined;
  };

/** Returns the time span, ms, that an expression of jq yields: a duration such as `5s`, or the time until which to wait. */
export const durationFrom =
  (filter: Filter, otherwise: number | undefined): StageNumber =>
  (object, now) => {
    const output = outputOf(filter, object);
    if (typeof output !== 'string') return otherwise;
    const nanos = parseDuration(output);
    if (typeof nanos === 'bigint') return Math.max(0, Number(nanos / 1_000_000n));
    const at = Date.parse(output);
    return Number.isNaN(at) ? otherwise : Math.max(0, at - now);
  };
