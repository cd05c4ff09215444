import { stringify } from 'yaml';
import { ownMember } from '../../base/own.ts';

/** A function of a template. */
export type TemplateFunction = (...args: readonly unknown[]) => unknown;

/** Whether a value is empty for `if`, `with`, `and`, `or` and `default`, as in Go: zero, empty or absent. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Formats a value as Go's templates print it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '<no value>';
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value);
  if (typeof value !== 'object') return '';
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${pairs.map(([key, member]) => `${key}:${textOf(member)}`).join(' ')}]`;
}

const plain = (value: unknown): string => (value === undefined || value === null ? '' : textOf(value));

const same = (a: unknown, b: unknown): boolean => (a ?? null) === (b ?? null);

const less = (a: unknown, b: unknown): boolean =>
  typeof a === 'number' && typeof b === 'number' ? a < b : plain(a) < plain(b);

/** Formats like Go's `Sprintf`, for the verbs %s, %d, %v, %q and %%. */
function printf(format: unknown, ...args: readonly unknown[]): string {
  let next = 0;
  return plain(format).replace(/%([sdvq%])/g, (_all, verb: string) => {
    if (verb === '%') return '%';
    const value = args[next++];
    return verb === 'q' ? JSON.stringify(plain(value)) : plain(value);
  });
}

function memberOf(of: unknown, ...keys: readonly unknown[]): unknown {
  let value = of;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, String(key))) return undefined;
    value = ownMember(value as Readonly<Record<string, unknown>>, String(key));
  }
  return value;
}

function yamlOf(value: unknown, indent: unknown = 0): string {
  const text = stringify(value).trimEnd();
  const pad = '  '.repeat(Number(indent));
  return pad === '' ? text : text.replace(/^/gm, pad).trimStart();
}

const numbers =
  (act: (a: number, b: number) => number): TemplateFunction =>
  (...args) =>
    args.map(Number).reduce(act);

/** Functions that every template has: those of Go's text/template, and helpers with the names that sprig gave them. */
export const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  not: (value) => isEmpty(value),
  eq: (value, ...others) => others.some((other) => same(value, other)),
  ne: (a, b) => !same(a, b),
  lt: (a, b) => less(a, b),
  le: (a, b) => !less(b, a),
  gt: (a, b) => less(b, a),
  ge: (a, b) => !less(a, b),
  len: (value) => (typeof value === 'string' ? Buffer.byteLength(value) : Object.keys(value ?? {}).length),
  index: memberOf,
  print: (...args) => args.map(plain).join(''),
  println: (...args) => `${args.map(plain).join(' ')}\n`,
  printf,
  default: (fallback, value) => (isEmpty(value) ? fallback : value),
  dict: (...pairs) =>
    Object.fromEntries(
      Array.from({ length: Math.floor(pairs.length / 2) }, (_, at) => [
        plain(pairs[2 * at]),
        pairs[2 * at + 1],
      ]),
    ),
  list: (...members) => members,
  lower: (text) => plain(text).toLowerCase(),
  upper: (text) => plain(text).toUpperCase(),
  trim: (text) => plain(text).trim(),
  quote: (value) => JSON.stringify(plain(value)),
  Quote: (value) => JSON.stringify(plain(value)),
  toString: plain,
  toJson: (value) => JSON.stringify(value ?? null),
  YAML: yamlOf,
  hasPrefix: (prefix, text) => plain(text).startsWith(plain(prefix)),
  hasSuffix: (suffix, text) => plain(text).endsWith(plain(suffix)),
  contains: (part, text) => plain(text).includes(plain(part)),
  replace: (from, to, text) => plain(text).replaceAll(plain(from), plain(to)),
  join: (separator, members) => (Array.isArray(members) ? members.map(plain).join(plain(separator)) : ''),
  add: numbers((a, b) => a + b),
  sub: numbers((a, b) => a - b),
  mul: numbers((a, b) => a * b),
  div: numbers((a, b) => Math.trunc(a / b)),
  mod: numbers((a, b) => a % b),
};
