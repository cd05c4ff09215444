import { goQuote } from '../../../go/go-quote.ts';

/** An interval of completion indexes, both ends included. */
type Interval = readonly [first: number, last: number];

/** The outcome of reading indexes: how many they are, or what is wrong. */
export type IndexCount =
  { readonly total: number; readonly why?: undefined } | { readonly why: string; readonly total: 0 };

/** Reads the number of an index. @returns a message when it is wrong */
function indexOf(text: string, completions: number): number | string {
  if (!/^[+-]?\d+$/.test(text)) return `cannot convert string to integer for index: ${goQuote(text)}`;
  return Number(text) >= completions ? `too large index: ${goQuote(text)}` : Number(text);
}

/** Reads an interval like `3` or `5-7`. @returns a message when it is wrong */
function intervalOf(text: string, completions: number): Interval | string {
  const ends = text.split('-');
  if (ends.length > 2)
    return `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const first = indexOf(ends[0] ?? '', completions);
  if (typeof first === 'string') return first;
  if (ends[1] === undefined) return [first, first];
  const last = indexOf(ends[1], completions);
  if (typeof last === 'string') return last;
  return first >= last ? `non-increasing order, previous: ${first}, current: ${last}` : [first, last];
}

/** Counts the indexes of a text like `1,3-5,7`. Follows Kubernetes `validateIndexesFormat` (pkg/apis/batch/validation, v1.36). */
export function countIndexes(text: string, completions: number): IndexCount {
  let [total, before] = [0, -Infinity];
  for (const part of text === '' ? [] : text.split(',')) {
    const interval = intervalOf(part, completions);
    if (typeof interval === 'string') return { why: interval, total: 0 };
    const [first, last] = interval;
    if (before >= first)
      return { why: `non-increasing order, previous: ${before}, current: ${first}`, total: 0 };
    total += last - first + 1;
    before = last;
  }
  return { total };
}

/** Returns the first index that two texts of indexes share; parts that cannot be read are skipped. */
export function sharedIndex(a: string, b: string, completions: number): number | undefined {
  const read = (text: string): Interval[] =>
    text.split(',').flatMap((part) => {
      const interval = intervalOf(part, completions);
      return typeof interval === 'string' ? [] : [interval];
    });
  const [ours, theirs] = [read(a), read(b)];
  for (let [i, j] = [0, 0]; i < ours.length && j < theirs.length;) {
    const [[x1, y1], [x2, y2]] = [ours[i] ?? [0, 0], theirs[j] ?? [0, 0]];
    if (x1 <= y2 && x2 <= y1) return Math.max(x1, x2);
    if (x1 <= x2) i++;
    else j++;
  }
  return undefined;
}
