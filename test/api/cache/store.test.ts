import { expect, test } from 'vitest';
import { Store } from '../../../src/api/cache/store.ts';
import type { KubeObject } from '../../../src/kube/types.ts';

const pod = (name: string, labels: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { namespace: 'default', name, labels },
});
const store = (): Store<KubeObject> =>
  new Store({ labels: ({ metadata }) => Object.values(metadata?.labels ?? {}) });
const names = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => metadata?.name ?? '');

test('an index finds the objects under each of their values', () => {
  const pods = store();
  pods.set('default/a', pod('a', { app: 'web', tier: 'front' }));
  pods.set('default/b', pod('b', { app: 'web' }));
  expect(names(pods.byIndex('labels', 'web'))).toEqual(['a', 'b']);
  expect(names(pods.byIndex('labels', 'front'))).toEqual(['a']);
  expect(pods.byIndex('labels', 'db')).toEqual([]);
  expect(pods.byIndex('none', 'web')).toEqual([]);
});

test('an object whose values stay the same is found in its newest state', () => {
  const pods = store();
  pods.set('default/a', pod('a', { app: 'web' }));
  const newest = pod('a', { app: 'web' });
  pods.set('default/a', newest);
  expect(pods.byIndex('labels', 'web')).toEqual([newest]);
  expect(pods.byIndex('labels', 'web')[0]).toBe(newest);
});

test('an object with one value more or less is found under its own only', () => {
  const pods = store();
  pods.set('default/a', pod('a', { app: 'web' }));
  pods.set('default/a', pod('a', { app: 'web', tier: 'front' }));
  expect(names(pods.byIndex('labels', 'front'))).toEqual(['a']);
  pods.set('default/a', pod('a', { tier: 'front' }));
  expect(pods.byIndex('labels', 'web')).toEqual([]);
  expect(names(pods.byIndex('labels', 'front'))).toEqual(['a']);
  pods.delete('default/a');
  expect(pods.byIndex('labels', 'front')).toEqual([]);
});

test('an index that is added later has the objects that are there, and follows them', () => {
  const pods = new Store<KubeObject>();
  pods.set('default/a', pod('a', { app: 'web' }));
  pods.addIndex('app', ({ metadata }) => [metadata?.labels?.['app'] ?? '']);
  expect(names(pods.byIndex('app', 'web'))).toEqual(['a']);
  pods.set('default/a', pod('a', { app: 'db' }));
  expect(pods.byIndex('app', 'web')).toEqual([]);
  expect(names(pods.byIndex('app', 'db'))).toEqual(['a']);
});
