import { endOfString, findJsonFault } from '../../go/json-fault.ts';

/** Returns Go's message for a text that is not JSON. */
export const jsonFault = (text: string): string => findJsonFault(text).message;

/** Returns Go's name of a JSON value's type in decoding errors. */
export const goKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;

/**
 * Returns `duplicate field "spec.restartPolicy"` for each member that an object in valid JSON has twice.
 *
 * @param value the parsed text: it has fewer members than the text where one is repeated
 */
export function duplicateFields(text: string, value: unknown): string[] {
  if (membersIn(text) === membersOf(value)) return [];
  const found = new Set<string>();
  walk(text, { duplicate: (path) => found.add(`duplicate field "${path}"`) });
  return [...found];
}

/** Returns the number of members of all objects in valid JSON: the strings before a colon. */
function membersIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = endOfString(text, at) + 1;
    while (isSpace(text.codePointAt(at))) at++;
    if (text[at] === ':') count++;
  }
  return count;
}

const isSpace = (code: number | undefined): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Returns the number of members of all objects in a value, without recursion. */
function membersOf(value: unknown): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    const inner: readonly unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += inner.length;
    for (const one of inner) if (typeof one === 'object') open.push(one);
  }
  return count;
}

/** Matches a number that JavaScript may write differently: with a fraction, an exponent, or more digits than it can represent. */
const oddNumber = /[[:,]\s*-?(?:\d+[.eE]|\d{16})/;

/** Returns the numbers of valid JSON as written, by path; none if all are plain. */
export function numberLiterals(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!oddNumber.test(text)) return found;
  const note = (path: string, literal: string): void => {
    if (/[.eE]|\d{16}/.test(literal)) found.set(path, literal);
  };
  walk(text, { number: note });
  return found;
}

/** Callbacks of a walk, by path. */
interface Found {
  readonly duplicate?: (path: string) => void;
  readonly number?: (path: string, literal: string) => void;
}

/** An open list or object. */
interface Open {
  readonly path: string;
  /** The members of an object so far; absent for a list. */
  readonly keys?: Set<string>;
  /** The current member, or index in the list; undefined in an object before its first member and after each comma. */
  at?: string | number | undefined;
}

/** Matches a bracket, colon or comma; a string; or another value. */
const token = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/gy;

/** Walks valid JSON without recursion, since it may be nested ten thousand levels deep. */
function walk(text: string, { duplicate, number }: Found): void {
  const open: Open[] = [];
  for (const [, mark, string, word] of text.matchAll(token)) {
    const inner = open.at(-1);
    if (mark !== undefined) step(mark, open);
    else if (string !== undefined && inner?.keys && inner.at === undefined) {
      const key = JSON.parse(string) as string;
      inner.at = key;
      if (inner.keys.has(key)) duplicate?.(pathOf(inner));
      inner.keys.add(key);
    } else if (word !== undefined && /^[-\d]/.test(word)) number?.(pathOf(inner), word);
  }
}

function step(mark: string, open: Open[]): void {
  const inner = open.at(-1);
  if (mark === '{') open.push({ path: pathOf(inner), keys: new Set() });
  else if (mark === '[') open.push({ path: pathOf(inner), at: 0 });
  else if (mark === '}' || mark === ']') open.pop();
  else if (mark === ',' && inner) inner.at = typeof inner.at === 'number' ? inner.at + 1 : undefined;
}

function pathOf(inner: Open | undefined): string {
  if (!inner) return '';
  const { path, at = '' } = inner;
  if (typeof at === 'number') return `${path}[${at}]`;
  return path === '' ? at : `${path}.${at}`;
}
