/** Where a text stops being JSON: the offset, and what Go's scanner was at. At the text's end it was cut short. */
export interface JsonFault {
  readonly offset: number;
  readonly at: string;
}

type Expectation = 'key or end' | 'key' | 'colon' | 'value' | 'value or end' | 'more';

const words: Readonly<Record<Exclude<Expectation, 'more'>, string>> = {
  'key or end': 'looking for beginning of object key string',
  key: 'looking for beginning of object key string',
  colon: 'after object key',
  value: 'looking for beginning of value',
  'value or end': 'looking for beginning of value',
};

const token =
  /\s*(?:("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)|([[\]{},:]))/y;

/** Finds the first fault of a text that `JSON.parse` rejects. */
export function findJsonFault(text: string): JsonFault {
  const open: ('{' | '[')[] = [];
  let expect: Expectation = 'value';
  let offset = 0;
  for (;;) {
    token.lastIndex = offset;
    const found = token.exec(text);
    const next: Expectation | undefined = found ? step(found, expect, open) : undefined;
    if (!found || next === undefined) return { offset: skipSpace(text, offset), at: placeOf(expect, open) };
    offset = token.lastIndex;
    expect = next;
  }
}

/** What may come after a token; nothing when the token may not stand here. */
function step(
  [, text, scalar, mark = '']: RegExpExecArray,
  expect: Expectation,
  open: ('{' | '[')[],
): Expectation | undefined {
  if (text !== undefined && expect.startsWith('key')) return 'colon';
  if (text !== undefined || scalar !== undefined) return expect.startsWith('value') ? 'more' : undefined;
  return marks[mark]?.(expect, open);
}

type AfterMark = (expect: Expectation, open: ('{' | '[')[]) => Expectation | undefined;

const opens =
  (mark: '{' | '[', inside: Expectation): AfterMark =>
  (expect, open) => {
    if (!expect.startsWith('value')) return undefined;
    open.push(mark);
    return inside;
  };

const closes =
  (mark: '{' | '['): AfterMark =>
  (expect, open) => {
    if (open.at(-1) !== mark || (expect !== 'more' && !expect.endsWith('or end'))) return undefined;
    open.pop();
    return 'more';
  };

const marks: Readonly<Record<string, AfterMark>> = {
  '{': opens('{', 'key or end'),
  '[': opens('[', 'value or end'),
  '}': closes('{'),
  ']': closes('['),
  ':': (expect) => (expect === 'colon' ? 'value' : undefined),
  ',': (expect, open) => {
    if (expect !== 'more' || open.length === 0) return undefined;
    return open.at(-1) === '{' ? 'key' : 'value';
  },
};

function placeOf(expect: Expectation, open: readonly ('{' | '[')[]): string {
  if (expect !== 'more') return words[expect];
  if (open.length === 0) return 'after top-level value';
  return open.at(-1) === '{' ? 'after object key:value pair' : 'after array element';
}

const skipSpace = (text: string, offset: number): number =>
  offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0);
