import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createJsonPatch } from '../../../src/apimachinery/patch/create-json-patch.ts';
import { jsonPatch } from '../../../src/apimachinery/patch/patch.ts';
import { canonicalJson } from '../../../src/apimachinery/json.ts';

const json = (depth: number): fc.Arbitrary<unknown> =>
  depth === 0
    ? fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('a', 'b', '', null, true))
    : fc.oneof(
        json(0),
        fc.array(json(depth - 1), { maxLength: 5 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c/d', 'e~f', '0'), json(depth - 1), { maxKeys: 4 }),
      );
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c/d', 'e~f', '0'), json(3), { maxKeys: 5 });

describe('createJsonPatch', () => {
  test('the patch makes the modified object of the original, whatever they are', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patched = jsonPatch(before, createJsonPatch(before, after));
        expect(canonicalJson(patched)).toBe(canonicalJson(after));
      }),
      { numRuns: 500 },
    );
  });

  test('only what differs is patched', () => {
    const items = [{ name: 'a', image: 'x' }, { name: 'b' }];
    expect(
      createJsonPatch({ spec: { items, n: 1 } }, { spec: { items: structuredClone(items), n: 1 } }),
    ).toEqual([]);
    expect(
      createJsonPatch(
        { spec: { items, gone: 1, none: undefined } },
        {
          spec: { items: [{ name: 'a', image: 'y' }, { name: 'b' }, { name: 'c' }] },
          metadata: { labels: { 'x/y': '1' } },
        },
      ),
    ).toEqual([
      { op: 'replace', path: '/spec/items/0/image', value: 'y' },
      { op: 'add', path: '/spec/items/2', value: { name: 'c' } },
      { op: 'remove', path: '/spec/gone' },
      { op: 'add', path: '/metadata', value: { labels: { 'x/y': '1' } } },
    ]);
    expect(createJsonPatch({ a: { 'x/y~z': '1' } }, { a: { 'x/y~z': '2' } })).toEqual([
      { op: 'replace', path: '/a/x~1y~0z', value: '2' },
    ]);
  });

  test('dates are patched as their text, and members that are undefined as absent', () => {
    const at = new Date('2026-03-04T05:06:07Z');
    const text = at.toISOString();
    expect(createJsonPatch({ at: text, in: [text] }, { at, in: [at] })).toEqual([]);
    expect(
      createJsonPatch({ gone: 1, old: '' }, { gone: undefined, never: undefined, old: at, new: at }),
    ).toEqual([
      { op: 'remove', path: '/gone' },
      { op: 'replace', path: '/old', value: text },
      { op: 'add', path: '/new', value: text },
    ]);
  });
});
