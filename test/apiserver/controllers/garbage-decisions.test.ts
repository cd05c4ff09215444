import { expect, test } from 'vitest';
import {
  actionFor,
  blocks,
  isForeground,
  isOrphaning,
  type OwnerState,
  unblocked,
  withoutFinalizer,
  withoutOwners,
} from '../../../src/apiserver/controllers/garbage-decisions.ts';

const owner = (uid: string, block?: boolean): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  ...(block !== undefined && { blockOwnerDeletion: block }),
});
const object = (owners: readonly object[], more: object = {}): Record<string, unknown> => ({
  metadata: { name: 'x', ownerReferences: owners, ...more },
});
const states =
  (all: Readonly<Record<string, OwnerState>>) =>
  (one: Readonly<Record<string, unknown>>): OwnerState =>
    all[String(one['uid'])] ?? 'absent';

test('an object is deleted when none of its owners exists, and released by those that are gone when one does', () => {
  expect(actionFor(object([]), states({}), [])).toEqual({ type: 'keep' });
  expect(actionFor(object([owner('a')]), states({ a: 'solid' }), [])).toEqual({ type: 'keep' });
  expect(
    actionFor(object([owner('a'), owner('b'), owner('c')]), states({ a: 'solid', c: 'waiting' }), []),
  ).toEqual({
    type: 'release',
    uids: ['b', 'c'],
  });
  expect(actionFor(object([owner('a')]), states({}), [])).toEqual({
    type: 'delete',
    propagation: 'Background',
    unblock: false,
  });
  expect(actionFor(object([owner('a')], { deletionTimestamp: 't' }), states({}), [])).toEqual({
    type: 'keep',
  });
});

test('the propagation follows the finalizers, and the owner that waits', () => {
  const of = (finalizers: readonly string[]): unknown =>
    actionFor(object([owner('a')], { finalizers }), states({}), []);
  expect(of(['orphan'])).toMatchObject({ propagation: 'Orphan' });
  expect(of(['foregroundDeletion'])).toMatchObject({ propagation: 'Foreground' });
  const waiting = states({ a: 'waiting' });
  expect(actionFor(object([owner('a')]), waiting, [])).toMatchObject({ propagation: 'Background' });
  expect(actionFor(object([owner('a')]), waiting, [object([])])).toEqual({
    type: 'delete',
    propagation: 'Foreground',
    unblock: false,
  });
  const circle = object([owner('x', true)], { deletionTimestamp: 't', finalizers: ['foregroundDeletion'] });
  expect(actionFor(object([owner('a', true)]), waiting, [circle])).toMatchObject({ unblock: true });
});

test('references and finalizers are removed as metadata changes', () => {
  expect(blocks(object([owner('a', true)]), 'a')).toBe(true);
  expect(blocks(object([owner('a', false), owner('b', true)]), 'a')).toBe(false);
  expect(withoutOwners(object([owner('a'), owner('b')]), ['a'])).toEqual({ ownerReferences: [owner('b')] });
  expect(withoutOwners(object([owner('a')]), ['a'])).toEqual({ ownerReferences: undefined });
  expect(unblocked(object([owner('a', true), owner('b')]))).toEqual({
    ownerReferences: [owner('a', false), owner('b')],
  });
  const marked = object([], { deletionTimestamp: 't', finalizers: ['orphan', 'mine'] });
  expect([isOrphaning(marked), isForeground(marked)]).toEqual([true, false]);
  expect(withoutFinalizer(marked, 'orphan')).toEqual({ finalizers: ['mine'] });
});
