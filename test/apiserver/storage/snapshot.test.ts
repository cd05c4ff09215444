import { expect, test } from 'vitest';
import { restoreSnapshot, takeSnapshot } from '../../../src/apiserver/storage/snapshot.ts';
import { type Change, Store } from '../../../src/apiserver/storage/store.ts';

const object = (name: string, data = ''): { metadata: { name: string }; data: string } => ({
  metadata: { name },
  data,
});

test('what changed since is undone, in new versions, and watches see it', () => {
  const store = new Store();
  for (const name of ['same', 'changed', 'deleted']) store.put('maps', object(name));
  const snapshot = takeSnapshot(store);
  const before = store.version;
  store.put('maps', object('changed', 'x'));
  store.delete('maps', 'deleted');
  store.put('maps', object('new'));
  store.put('others', object('new'));
  store.flush();
  const changes: [string, Change['type'], string][] = [];
  store.onChange((storage, all) => {
    for (const { type, entry } of all) changes.push([storage, type, entry.key]);
  });
  restoreSnapshot(store, snapshot);
  expect([...store.list('maps')].map(({ key, object: { data } }) => [key, data])).toEqual([
    ['changed', ''],
    ['deleted', ''],
    ['same', ''],
  ]);
  expect(store.count('others')).toBe(0);
  expect(store.get('maps', 'same')).toBe(snapshot.get('maps')?.get('same'));
  expect(store.get('maps', 'changed')?.version).toBeGreaterThan(before);
  expect(changes.sort()).toEqual([
    ['maps', 'ADDED', 'deleted'],
    ['maps', 'DELETED', 'new'],
    ['maps', 'MODIFIED', 'changed'],
    ['others', 'DELETED', 'new'],
  ]);
  const version = store.version;
  restoreSnapshot(store, takeSnapshot(store));
  expect(store.version).toBe(version);
});
