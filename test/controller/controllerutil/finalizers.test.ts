import { describe, expect, test } from 'vitest';
import {
  addFinalizer,
  containsFinalizer,
  FinalizeError,
  finalizers,
  removeFinalizer,
} from '../../../src/controller/controllerutil/finalizers.ts';
import type { KubeObject } from '../../../src/controller/types.ts';

const object = (names?: string[], deleted = false): KubeObject => ({
  metadata: {
    name: 'a',
    ...(names && { finalizers: names }),
    ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
});

describe('controllerutil: finalizers of an object', () => {
  test('1 addFinalizer adds a missing one and says so', () => {
    const one = object();
    expect(addFinalizer(one, 'x')).toBe(true);
    expect(one.metadata?.finalizers).toEqual(['x']);
  });
  test('2 addFinalizer leaves one that is there', () => {
    const one = object(['w', 'x']);
    expect(addFinalizer(one, 'x')).toBe(false);
    expect(one.metadata?.finalizers).toEqual(['w', 'x']);
  });
  test('3 removeFinalizer removes each equal one and says so', () => {
    const one = object(['x', 'w', 'x']);
    expect(removeFinalizer(one, 'x')).toBe(true);
    expect(one.metadata?.finalizers).toEqual(['w']);
  });
  test('4 removeFinalizer leaves an object without it', () => {
    const one = object(['w']);
    expect([removeFinalizer(one, 'x'), removeFinalizer({}, 'x')]).toEqual([false, false]);
    expect(one.metadata?.finalizers).toEqual(['w']);
  });
  test('5 containsFinalizer', () => {
    const one = object(['x']);
    expect(containsFinalizer(one, 'x')).toBe(true);
    removeFinalizer(one, 'x');
    expect([containsFinalizer(one, 'x'), containsFinalizer({}, 'x')]).toEqual([false, false]);
  });
  test('6 an object without metadata gets some', () => {
    const one: KubeObject = {};
    addFinalizer(one, 'x');
    expect(one.metadata?.finalizers).toEqual(['x']);
  });
});

describe('controllerutil: finalizers()', () => {
  test('1 a name is registered once', () => {
    const all = finalizers();
    all.register('x', () => undefined);
    expect(() => {
      all.register('x', () => undefined);
    }).toThrow('finalizer for key "x" already registered');
  });
  test('2 an object that lives gets the missing finalizers, and none runs', async () => {
    const all = finalizers();
    let runs = 0;
    all.register('x', () => {
      runs++;
      return undefined;
    });
    const one = object();
    expect(await all.finalize(one)).toEqual({ updated: true, statusUpdated: false });
    expect([one.metadata?.finalizers, runs]).toEqual([['x'], 0]);
  });
  test('3 an object that lives and has them is left', async () => {
    const all = finalizers();
    all.register('x', () => undefined);
    expect(await all.finalize(object(['x']))).toEqual({ updated: false, statusUpdated: false });
  });
  test('4 of a deleted object, a finalizer runs and is removed', async () => {
    const all = finalizers();
    all.register('x', async () => ({ statusUpdated: true }));
    const one = object(['x', 'other'], true);
    expect(await all.finalize(one)).toEqual({ updated: true, statusUpdated: true });
    expect(one.metadata?.finalizers).toEqual(['other']);
  });
  test('5 of a deleted object, a finalizer that it has not is neither run nor added', async () => {
    const all = finalizers();
    all.register('x', () => {
      throw new Error('must not run');
    });
    const one = object([], true);
    expect(await all.finalize(one)).toEqual({ updated: false, statusUpdated: false });
    expect(one.metadata?.finalizers).toEqual([]);
  });
  test('6 several run in turn', async () => {
    const all = finalizers();
    const ran: string[] = [];
    for (const name of ['x', 'y']) all.register(name, () => void ran.push(name));
    const one = object(['x', 'y'], true);
    expect((await all.finalize(one)).updated).toBe(true);
    expect([ran, one.metadata?.finalizers]).toEqual([['x', 'y'], []]);
  });
  test('7 one that fails stays, and the others run', async () => {
    const all = finalizers();
    all.register('x', () => {
      throw new Error('no disk');
    });
    all.register('y', () => undefined);
    const one = object(['x', 'y'], true);
    const error: unknown = await all.finalize(one).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FinalizeError);
    expect((error as FinalizeError).message).toBe('finalizer "x" failed: no disk');
    expect((error as FinalizeError).result).toEqual({ updated: true, statusUpdated: false });
    expect(one.metadata?.finalizers).toEqual(['x']);
  });
  test('8 the reasons of several failures are all there', async () => {
    const all = finalizers();
    for (const name of ['x', 'y'])
      all.register(name, async () => {
        throw new Error(`no ${name}`);
      });
    await expect(all.finalize(object(['x', 'y'], true))).rejects.toMatchObject({
      errors: [{ message: 'finalizer "x" failed: no x' }, { message: 'finalizer "y" failed: no y' }],
      result: { updated: false, statusUpdated: false },
    });
  });
});
