import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/json.ts';
import { createMergePatch, createStrategicPatch } from '../../../src/apimachinery/patch/create-patch.ts';
import { mergePatch } from '../../../src/apimachinery/patch/patch.ts';
import { strategicPatch } from '../../../src/apimachinery/patch/strategic-patch.ts';

describe('createMergePatch', () => {
  test('is empty for equal objects, and has only what differs', () => {
    expect(createMergePatch({ a: { b: [1] } }, { a: { b: [1] } })).toEqual({});
    expect(createMergePatch({ a: 1, b: { c: 1, d: 2 } }, { b: { c: 1, d: 3 }, e: [1] })).toEqual({
      a: null,
      b: { d: 3 },
      e: [1],
    });
    expect(createMergePatch({ a: 1 }, { a: undefined })).toEqual({ a: null });
  });

  test('makes the modified object of the original one', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    const { object } = fc.letrec<{ object: JsonObject; value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, leaf, tie('object'), fc.array(leaf)),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value')),
    }));
    fc.assert(
      fc.property(object, object, (before, after) => {
        expect(mergePatch(before, createMergePatch(before, after))).toEqual(after);
      }),
    );
  });
});

describe('createStrategicPatch', () => {
  const container = (name: string, image = 'i') => ({ name, image });
  const podOf = (...containers: object[]): JsonObject => ({
    metadata: { name: 'p', finalizers: ['a/x', 'a/y'] },
    spec: { containers, nodeSelector: { a: '1' } },
  });

  test('patches items by their keys, in the order of the modified list', () => {
    const patch = createStrategicPatch(
      podOf(container('a'), container('b')),
      podOf(container('c'), container('a', 'new')),
      'Pod',
    );
    expect(patch).toEqual({
      spec: {
        '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }],
        containers: [
          { name: 'c', image: 'i' },
          { name: 'a', image: 'new' },
          { $patch: 'delete', name: 'b' },
        ],
      },
    });
  });

  test('patches sets of texts', () => {
    const after = { ...podOf(), metadata: { name: 'p', finalizers: ['a/y', 'a/z'] } };
    expect(createStrategicPatch(podOf(), after, 'Pod')).toEqual({
      metadata: {
        '$deleteFromPrimitiveList/finalizers': ['a/x'],
        '$setElementOrder/finalizers': ['a/y', 'a/z'],
        finalizers: ['a/z'],
      },
    });
  });

  test('retains the members of a union', () => {
    const of = (strategy: object): JsonObject => ({ spec: { strategy } });
    const before = of({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } });
    const after = of({ type: 'Recreate' });
    const patch = createStrategicPatch(before, after, 'Deployment');
    expect(patch).toEqual({
      spec: { strategy: { type: 'Recreate', rollingUpdate: null, $retainKeys: ['type'] } },
    });
    expect(strategicPatch(before, patch, 'Deployment')).toEqual(after);
  });

  test('makes the modified pod of the original one', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 });
    const list = fc
      .tuple(names, fc.constantFrom('i', 'j'))
      .map(([all, image]) => all.map((one) => container(one, image)));
    fc.assert(
      fc.property(list, list, (before, after) => {
        const [from, to] = [podOf(...before), podOf(...after)];
        expect(strategicPatch(from, createStrategicPatch(from, to, 'Pod'), 'Pod')).toEqual(to);
      }),
    );
  });
});
