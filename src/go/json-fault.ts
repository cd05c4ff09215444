import { tableOf } from '../base/own.ts';
import { goQuote } from './go-quote.ts';

/** Position and message, in the words of Go's scanner, of a JSON syntax error; for truncated text, its end. */
export interface JsonFault {
  readonly offset: number;
  readonly message: string;
}

type Expectation = 'key or end' | 'key' | 'colon' | 'value' | 'value or end' | 'more';
type Bracket = '{' | '[';

const places: Readonly<Record<Exclude<Expectation, 'more'>, string>> = {
  'key or end': 'looking for beginning of object key string',
  key: 'looking for beginning of object key string',
  colon: 'after object key',
  value: 'looking for beginning of value',
  'value or end': 'looking for beginning of value',
};

/** Maximum nesting of arrays and objects (Go `encoding/json`). */
const maxDepth = 10_000;

/** Like `JSON.parse`, but rejects nesting that Go rejects. @throws {SyntaxError} {@link findJsonFault} returns the reason */
export function parseJson(text: string): unknown {
  if (nestsTooDeep(text)) throw new SyntaxError('exceeded max depth');
  return JSON.parse(text);
}

function nestsTooDeep(text: string): boolean {
  if (text.length <= maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at];
    if (mark === '"') at = endOfString(text, at);
    else if (mark === '{' || mark === '[') {
      if (++depth > maxDepth) return true;
    } else if (mark === '}' || mark === ']') depth--;
  }
  return false;
}

/** Returns the end of the string that begins at `start`; the end of the text when it is not terminated. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Finds the first error in a text that {@link parseJson} rejects. Follows the scanner of Go `encoding/json`. */
export function findJsonFault(text: string): JsonFault {
  const open: Bracket[] = [];
  let expect: Expectation = 'value';
  let offset = 0;
  for (;;) {
    while (isSpace(text[offset])) offset++;
    const mark = text[offset] ?? '';
    const next: Expectation | 'token' | undefined = isTokenStart(mark, expect)
      ? 'token'
      : marks[mark]?.(expect, open);
    if (next === undefined) return faultAt(text, offset, placeOf(expect, open));
    if (open.length > maxDepth) return faultAt(text, offset, 'exceeded max depth');
    const end: number | JsonFault = next === 'token' ? tokenEnd(text, offset) : offset + 1;
    if (typeof end !== 'number') return end;
    offset = end;
    expect = next !== 'token' ? next : expect.startsWith('key') ? 'colon' : 'more';
  }
}

const isSpace = (character: string | undefined): boolean =>
  character === ' ' || character === '\n' || character === '\t' || character === '\r';

const isTokenStart = (mark: string, expect: Expectation): boolean =>
  expect.startsWith('value') ? /^["\-0-9tfn]/.test(mark) : expect.startsWith('key') && mark === '"';

function faultAt(text: string, offset: number, place: string): JsonFault {
  const code = text.codePointAt(offset);
  const message =
    code === undefined ? 'unexpected end of JSON input' : `invalid character ${shown(code)} ${place}`;
  return { offset, message };
}

/** Like {@link faultAt}; a text that ends within a token is reported as if a space followed. */
const faultIn = (text: string, offset: number, place: string): JsonFault =>
  offset < text.length ? faultAt(text, offset, place) : { offset, message: `invalid character ' ' ${place}` };

/** Formats a character as in Go's message, which shows the first byte of its UTF-8 form as Latin-1. */
function shown(code: number): string {
  const byte = Buffer.from(String.fromCodePoint(code))[0] ?? 0;
  if (byte === 0x22) return `'"'`;
  return byte === 0x27 ? `'\\''` : `'${goQuote(String.fromCodePoint(byte)).slice(1, -1)}'`;
}

function placeOf(expect: Expectation, open: readonly Bracket[]): string {
  if (expect !== 'more') return places[expect];
  if (open.length === 0) return 'after top-level value';
  return open.at(-1) === '{' ? 'after object key:value pair' : 'after array element';
}

type AfterMark = (expect: Expectation, open: Bracket[]) => Expectation | undefined;

const opens =
  (mark: Bracket, inside: Expectation): AfterMark =>
  (expect, open) => {
    if (!expect.startsWith('value')) return undefined;
    open.push(mark);
    return inside;
  };

const closes =
  (mark: Bracket): AfterMark =>
  (expect, open) => {
    if (open.at(-1) !== mark || (expect !== 'more' && !expect.endsWith('or end'))) return undefined;
    open.pop();
    return 'more';
  };

/** What may follow a bracket, colon or comma; absent when it is not allowed at that position. */
const marks: Readonly<Record<string, AfterMark>> = tableOf({
  '{': opens('{', 'key or end'),
  '[': opens('[', 'value or end'),
  '}': closes('{'),
  ']': closes('['),
  ':': (expect) => (expect === 'colon' ? 'value' : undefined),
  ',': (expect, open) => {
    if (expect !== 'more' || open.length === 0) return undefined;
    return open.at(-1) === '{' ? 'key' : 'value';
  },
});

/** Returns the end of a string, number or literal. */
function tokenEnd(text: string, start: number): number | JsonFault {
  const first = text[start] ?? '';
  if (first === '"') return stringEnd(text, start + 1);
  const word = ['true', 'false', 'null'].find((one) => one.startsWith(first));
  return word === undefined ? numberEnd(text, start) : wordEnd(text, start, word);
}

function stringEnd(text: string, start: number): number | JsonFault {
  for (let at = start; ; at++) {
    const character = text[at] ?? '';
    if (character === '"') return at + 1;
    if (character < ' ') return faultAt(text, at, 'in string literal');
    if (character !== '\\') continue;
    at++;
    if (text[at] === 'u') {
      for (const last = at + 4; at < last; at++)
        if (!/^[0-9A-Fa-f]/.test(text[at + 1] ?? ''))
          return faultIn(text, at + 1, String.raw`in \u hexadecimal character escape`);
    } else if (!/^["\\/bfnrt]/.test(text[at] ?? '')) return faultIn(text, at, 'in string escape code');
  }
}

const digit = /^[0-9]/;

function numberEnd(text: string, start: number): number | JsonFault {
  let at = text[start] === '-' ? start + 1 : start;
  const digits = (): boolean => {
    const from = at;
    while (digit.test(text[at] ?? '')) at++;
    return at > from;
  };
  if (text[at] === '0') at++;
  else if (!digits()) return faultIn(text, at, 'in numeric literal');
  if (text[at] === '.') {
    at++;
    if (!digits()) return faultIn(text, at, 'after decimal point in numeric literal');
  }
  if (text[at] === 'e' || text[at] === 'E') {
    at++;
    if (text[at] === '+' || text[at] === '-') at++;
    if (!digits()) return faultIn(text, at, 'in exponent of numeric literal');
  }
  return at;
}

function wordEnd(text: string, start: number, word: string): number | JsonFault {
  for (const [i, letter] of Array.from(word).entries())
    if (text[start + i] !== letter)
      return faultIn(text, start + i, `in literal ${word} (expecting '${letter}')`);
  return start + word.length;
}
