import { findJsonFault } from '../../go/json-fault.ts';

/** Why Go's decoder refuses a text as JSON, in its words. */
export const jsonFault = (text: string): string => findJsonFault(text).message;

/** What Go calls a JSON value that it cannot read into something. */
export const goKind = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;

/** `duplicate field "spec.restartPolicy"` for each member that an object names twice, in a text that parses. */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  walk(text, { duplicate: (path) => found.add(`duplicate field "${path}"`) });
  return [...found];
}

/** A number that JavaScript may write otherwise than it stands: with a fraction, an exponent, or more digits than it can keep. */
const oddNumber = /[[:,]\s*-?(?:\d+[.eE]|\d{16})/;

/** The numbers of a text that parses, by path, as they are written; none where every one of them is plain. */
export function numberLiterals(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!oddNumber.test(text)) return found;
  const note = (path: string, literal: string): void => {
    if (/[.eE]|\d{16}/.test(literal)) found.set(path, literal);
  };
  walk(text, { number: note });
  return found;
}

/** What a walk finds, by path. */
interface Found {
  readonly duplicate?: (path: string) => void;
  readonly number?: (path: string, literal: string) => void;
}

/** A list or object that is open. */
interface Open {
  readonly path: string;
  /** Members of an object so far; absent: it is a list. */
  readonly keys?: Set<string>;
  /** The member, or the place in the list, that is being read; of an object absent before its first one and after each comma. */
  at?: string | number | undefined;
}

/** A bracket, colon or comma; a string; anything else that is a value. */
const token = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/gy;

/** Goes through a JSON text that parses, without a call for each level: it may have ten thousand. */
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
