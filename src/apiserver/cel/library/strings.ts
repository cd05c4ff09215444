import { func, type Library, method } from '../check/declarations.ts';
import { dynType, intType, listType, stringType } from '../check/types.ts';
import { textOf } from '../values/text.ts';
import { ArrayList, type CelList, EvalError, type Value } from '../values/value.ts';
import { formatted } from './format-text.ts';
import { regexFind } from './regex.ts';

const runesOf = (text: Value): string[] => Array.from(text as string);
const outOfRange = (index: Value): EvalError => new EvalError(`index out of range: ${index as bigint}`);
export const listOf = (items: readonly Value[]): CelList => new ArrayList(items);

function charAt(text: Value, at: Value): Value {
  const runes = runesOf(text);
  const index = Number(at);
  if (index < 0 || index > runes.length) throw outOfRange(at);
  return runes[index] ?? '';
}

const startsAt = (runes: readonly string[], part: readonly string[], at: number): boolean =>
  part.every((rune, i) => runes[at + i] === rune);

function indexOf(text: Value, part: Value, from: Value = 0n): Value {
  if (part === '') return from;
  const [runes, target, offset] = [runesOf(text), runesOf(part), Number(from)];
  if (offset < 0) throw outOfRange(from);
  for (let i = offset; i <= runes.length - target.length; i++)
    if (startsAt(runes, target, i)) return BigInt(i);
  return -1n;
}

function lastIndexOf(text: Value, part: Value, from?: Value): Value {
  const runes = runesOf(text);
  if (part === '') return from ?? BigInt(runes.length);
  const target = runesOf(part);
  const offset = from === undefined ? runes.length - 1 : Number(from);
  if (from === undefined && runes.length < target.length) return -1n;
  if (offset < 0) throw outOfRange(from ?? 0n);
  if (offset >= runes.length) return -1n;
  for (let i = Math.min(offset, runes.length - target.length); i >= 0; i--)
    if (startsAt(runes, target, i)) return BigInt(i);
  return -1n;
}

function substring(text: Value, start: Value, end?: Value): Value {
  const runes = runesOf(text);
  const [from, to] = [Number(start), end === undefined ? runes.length : Number(end)];
  if (end !== undefined && from > to)
    throw new EvalError(`invalid substring range. start: ${start as bigint}, end: ${end as bigint}`);
  if (from < 0 || from > runes.length) throw outOfRange(start);
  if (to < 0 || to > runes.length) throw outOfRange(end ?? null);
  return runes.slice(from, to).join('');
}

/** Reading a longer text costs more than any expression may. */
const longestText = 10_000_000;

/** @throws {RangeError} for a text that no expression could read */
function replaceFirst(text: string, part: string, by: string, most: number): string {
  const places = Math.floor(text.length / Math.max(1, part.length)) + 1;
  const times = most < 0 ? places : Math.min(most, places);
  if (times * by.length > longestText && countOf(text, part, times) * by.length > longestText)
    throw new RangeError('the text would be too long');
  if (most < 0)
    return part === ''
      ? by + Array.from(text, (rune) => rune + by).join('')
      : text.replaceAll(part, () => by);
  const pieces = part === '' ? Array.from(text) : text.split(part);
  if (part === '') return emptyReplaced(pieces, by, most);
  const count = Math.min(most, pieces.length - 1);
  return [...pieces.slice(0, count).map((one) => one + by), pieces.slice(count).join(part)].join('');
}

/** Counts the places of a part, up to a number. */
function countOf(text: string, part: string, most: number): number {
  if (part === '') return most;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0 && count < most; at = text.indexOf(part, at + part.length))
    count++;
  return count;
}

const emptyReplaced = (runes: readonly string[], by: string, most: number): string =>
  most === 0 ? runes.join('') : by + runes.map((rune, i) => (i < most - 1 ? rune + by : rune)).join('');

function split(text: string, separator: string, most = -1): string[] {
  const pieces = separator === '' ? Array.from(text) : text.split(separator);
  if (most < 0) return pieces;
  if (most === 0) return [];
  if (pieces.length <= most) return pieces;
  return [...pieces.slice(0, most - 1), pieces.slice(most - 1).join(separator)];
}

function join(list: Value, separator: Value = ''): Value {
  const parts = Array.from(list as CelList, (item) => {
    if (typeof item === 'string') return item;
    throw new EvalError(`join: invalid input: ${textOf(item)}`);
  });
  return parts.join(separator as string);
}

const ascii = (text: Value, change: (part: string) => string): Value =>
  (text as string).replaceAll(/[A-Za-z]+/g, change);

const escapes: ReadonlyMap<string, string> = new Map([
  ['\u0007', String.raw`\a`],
  ['\b', String.raw`\b`],
  ['\f', String.raw`\f`],
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\v', String.raw`\v`],
  ['\\', '\\\\'],
  ['"', String.raw`\"`],
]);
const quoted = (text: Value): Value =>
  `"${Array.from(text as string, (rune) => escapes.get(rune) ?? rune).join('')}"`;

const space = /^[\s\u0085]+|[\s\u0085]+$/gu;
const texts = listType(stringType);
const two = [stringType, stringType];
const three = [stringType, stringType, intType];

/** Functions on strings, and Kubernetes' `find` and `findAll`. */
export const strings: Library = {
  functions: [
    method('charAt', ['string_char_at_int', [stringType, intType], stringType, charAt]),
    method(
      'indexOf',
      ['string_index_of_string', two, intType, indexOf],
      ['string_index_of_string_int', three, intType, indexOf],
    ),
    method(
      'lastIndexOf',
      ['string_last_index_of_string', two, intType, lastIndexOf],
      ['string_last_index_of_string_int', three, intType, lastIndexOf],
    ),
    method('lowerAscii', [
      'string_lower_ascii',
      [stringType],
      stringType,
      (x) => ascii(x, (y) => y.toLowerCase()),
    ]),
    method('upperAscii', [
      'string_upper_ascii',
      [stringType],
      stringType,
      (x) => ascii(x, (y) => y.toUpperCase()),
    ]),
    method(
      'replace',
      [
        'string_replace_string_string',
        [stringType, stringType, stringType],
        stringType,
        (x, y, z) => replaceFirst(x as string, y as string, z as string, -1),
      ],
      [
        'string_replace_string_string_int',
        [stringType, stringType, stringType, intType],
        stringType,
        (x, y, z, most) => replaceFirst(x as string, y as string, z as string, Number(most)),
      ],
    ),
    method(
      'split',
      ['string_split_string', two, texts, (x, y) => listOf(split(x as string, y as string))],
      [
        'string_split_string_int',
        three,
        texts,
        (x, y, most) => listOf(split(x as string, y as string, Number(most))),
      ],
    ),
    method(
      'substring',
      ['string_substring_int', [stringType, intType], stringType, substring],
      ['string_substring_int_int', [stringType, intType, intType], stringType, substring],
    ),
    method('trim', ['string_trim', [stringType], stringType, (x) => (x as string).replaceAll(space, '')]),
    method('format', [
      'string_format',
      [stringType, listType(dynType)],
      stringType,
      (x, list) => formatted(x as string, [...(list as CelList)]),
    ]),
    func('strings.quote', ['strings_quote', [stringType], stringType, quoted]),
    method(
      'join',
      ['list_join', [texts], stringType, join],
      ['list_join_string', [texts, stringType], stringType, join],
    ),
    method('find', [
      'string_find_string',
      two,
      stringType,
      (x, y) => regexFind(x as string, y as string, 1)[0] ?? '',
    ]),
    method(
      'findAll',
      ['string_find_all_string', two, texts, (x, y) => listOf(regexFind(x as string, y as string, -1))],
      [
        'string_find_all_string_int',
        three,
        texts,
        (x, y, most) => listOf(regexFind(x as string, y as string, Number(most))),
      ],
    ),
  ],
};

/** What expressions that make JSON patches may use beside the others. */
export const jsonPatches: Library = {
  functions: [
    func('jsonpatch.escapeKey', [
      'string_jsonpatch_escapeKey_string',
      [stringType],
      stringType,
      (x) => (x as string).replaceAll('~', '~0').replaceAll('/', '~1'),
    ]),
  ],
};
