import type { PodSpec } from '../types.ts';
import { goStructJson } from '../../go/go-json.ts';
import { internalForm, internalPodSpec } from './internal-spec.ts';

const contextLines = 3;
/** Above this number of line pairs, a change is shown as a whole. */
const mostPairs = 4_000_000;

/** Returns a unified diff of the internal forms of two specs. Follows apimachinery `diff.Diff`. */
export const specDiff = (before: PodSpec, after: PodSpec): string =>
  unifiedDiff(lines(internalPodSpec(before)), lines(internalPodSpec(after)));

/** Returns a unified diff of the internal forms of two values of a struct. */
export const formDiff = (
  struct: string,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string => unifiedDiff(lines(internalForm(struct, before)), lines(internalForm(struct, after)));

const lines = (value: unknown): readonly string[] => indented(value).split('\n');

/** Formats JSON with an indentation of one space and Go's escaping. */
function indented(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .split('\n')
    .map((line) => (/[<>&]/.test(line) ? line.replace(/[<>&]/g, (c) => goStructJson(c).slice(1, -1)) : line))
    .join('\n');
}

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** Returns a unified diff without file names: hunks of changed lines with three lines of context. */
export function unifiedDiff(before: readonly string[], after: readonly string[]): string {
  const script = compare(before, after);
  const changed = script.flatMap((line, i) => (line.mark === ' ' ? [] : [i]));
  const hunks: { start: number; end: number }[] = [];
  for (const i of changed) {
    const last = hunks.at(-1);
    const [start, end] = [Math.max(0, i - contextLines), Math.min(script.length, i + contextLines + 1)];
    if (last && start <= last.end) last.end = end;
    else hunks.push({ start, end });
  }
  return hunks.map(({ start, end }) => hunk(script, start, end)).join('');
}

function hunk(script: readonly Line[], start: number, end: number): string {
  const count = (part: readonly Line[], other: Line['mark']): number =>
    part.filter(({ mark }) => mark !== other).length;
  const [head, body] = [script.slice(0, start), script.slice(start, end)];
  const range = (other: Line['mark']): string => {
    const [from, size] = [count(head, other), count(body, other)];
    return size === 1 ? `${from + 1}` : `${size === 0 ? from : from + 1},${size}`;
  };
  const text = body.map((line) => `${line.mark}${line.text}\n`).join('');
  return `@@ -${range('+')} +${range('-')} @@\n${text}`;
}

/** Computes kept, removed and added lines by a longest common subsequence between the common prefix and suffix. */
function compare(before: readonly string[], after: readonly string[]): readonly Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const keep = (text: string): Line => ({ mark: ' ', text });
  return [
    ...before.slice(0, head).map(keep),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(keep),
  ];
}

function middle(before: readonly string[], after: readonly string[]): readonly Line[] {
  const gone = before.map((text): Line => ({ mark: '-', text }));
  const come = after.map((text): Line => ({ mark: '+', text }));
  if (before.length * after.length > mostPairs) return [...gone, ...come];
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  return walk(gone, come, at);
}

function walk(
  gone: readonly Line[],
  come: readonly Line[],
  common: (i: number, j: number) => number,
): readonly Line[] {
  const script: Line[] = [];
  let [i, j] = [0, 0];
  for (;;) {
    const [old, fresh] = [gone[i], come[j]];
    if (!old && !fresh) return script;
    if (old?.text === fresh?.text && old) {
      script.push({ mark: ' ', text: old.text });
      i++;
      j++;
    } else if (old && (!fresh || common(i + 1, j) >= common(i, j + 1))) {
      script.push(old);
      i++;
    } else if (fresh) {
      script.push(fresh);
      j++;
    }
  }
}
