import { expect, test } from 'vitest';
import { duplicateFields } from '../../../src/apimachinery/serializer/json-scan.ts';

const duplicatesIn = (text: string): readonly string[] => duplicateFields(text, JSON.parse(text));

test.each([
  ['no member twice', '{"a":1,"b":{"a":2}}', []],
  ['a member twice', '{"a":1,"b":2,"a":3}', ['a']],
  ['a member twice in a list', '{"items":[{"a":1},{"b":1,"b":2}]}', ['items[1].b']],
  ['a member twice, once by an escape', String.raw`{"a":1,"\u0061":2}`, ['a']],
  ['space before a colon', '{"a" :1,"a"\n:2}', ['a']],
  ['strings that look like members', String.raw`{"a":"\"a\":1","b":"x\\","c":["a","a"]}`, []],
  ['an inherited name', '{"__proto__":{"a":1},"constructor":2}', []],
  ['an inherited name twice', '{"__proto__":{"a":1},"__proto__":2}', ['__proto__']],
])('%s', (_title, text, fields) => {
  expect(duplicatesIn(text)).toEqual(fields.map((field) => `duplicate field "${field}"`));
});
