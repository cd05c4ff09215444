import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { ApiError } from '../../../src/api/client.ts';
import {
  applyConfiguration,
  mergeFrom,
  mergeFromWithOptimisticLock,
  rawPatch,
  strategicMergeFrom,
} from '../../../src/controller/client/patches.ts';
import { fakeClient } from '../../../src/controller/fake/index.ts';
import { defineKind, kinds } from '../../../src/controller/kinds.ts';
import type { Client, Kind, KubeObject } from '../../../src/controller/types.ts';
import { configMap, type Deployment, deployment, failure, names, pod, Widget, widget } from '../support.ts';

const v1 = <T extends KubeObject>(kind: Kind<T>, object: T): T => ({
  apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
  kind: kind.kind,
  ...object,
});
const at = (name: string) => ({ namespace: 'default', name });
const start = 1_700_000_000_000;

let clock: FakeClock;
let client: Client;
const fake = (...objects: KubeObject[]): Client =>
  fakeClient({ objects, clock, withStatusSubresource: [Widget] });
beforeEach(() => {
  clock = new FakeClock(start);
  client = fake(
    v1(kinds.Deployment, deployment('one', { metadata: { labels: { app: 'x', tier: 'a' } } })),
    v1(kinds.Deployment, deployment('two', { metadata: { labels: { app: 'x' } } })),
    v1(kinds.Deployment, deployment('other', { metadata: { namespace: 'ns2', labels: { app: 'y' } } })),
    v1(kinds.ConfigMap, configMap('cm', { data: { k: 'v' } })),
  );
});

describe('reads', () => {
  test('44. get returns a copy with kind and version 999', async () => {
    const first = await client.get(kinds.ConfigMap, at('cm'));
    expect(first).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { resourceVersion: '999' },
    });
    first.data = { broken: '1' };
    expect((await client.get(kinds.ConfigMap, at('cm'))).data).toEqual({ k: 'v' });
  });

  test('45. get of nothing is 404 as the server words it', async () => {
    const error = await failure(client.get(kinds.Deployment, at('none')));
    expect([error.status, error.reason, error.message]).toEqual([
      404,
      'NotFound',
      'deployments.apps "none" not found',
    ]);
  });

  test('46. list by namespace, labels, text selectors, and all', async () => {
    const by = (options: object) => client.list(kinds.Deployment, options).then(names);
    expect(await by({ namespace: 'default' })).toEqual(['one', 'two']);
    expect(await by({ labels: { app: 'x', tier: 'a' } })).toEqual(['one']);
    expect(await by({ labels: 'tier' })).toEqual(['one']);
    expect(await by({ labels: '!tier', namespace: 'default' })).toEqual(['two']);
    expect(await by({})).toEqual(['one', 'other', 'two']);
    expect((await failure(client.list(kinds.Deployment, { labels: 'a in' }))).status).toBe(400);
  });

  test('47. list page by page', async () => {
    const first = await client.list(kinds.Deployment, { limit: 2 });
    const second = await client.list(kinds.Deployment, { limit: 2, continue: first.continue });
    expect([first.length, first.remainingItemCount, second.length, second.continue]).toEqual([2, 1, 1, '']);
  });

  test('48. metadata only', async () => {
    const found = await client.get(kinds.Deployment, at('one'), { metadataOnly: true });
    expect(Object.keys(found)).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  test('49. kinds without a declared type are unstructured', async () => {
    const kind = defineKind({ group: 'any.io', version: 'v1', kind: 'Thing' });
    await client.create(kind, { metadata: at('t'), anything: [1, { a: 'b' }] });
    expect(await client.get(kind, at('t'))).toMatchObject({ anything: [1, { a: 'b' }] });
    expect(names(await client.list(kind))).toEqual(['t']);
  });

  test('50. objects of the start need kind and version, and finalizers if they are being deleted', () => {
    expect(() => fakeClient({ objects: [configMap('a')] })).toThrow('has no apiVersion or kind');
    const deleting = { ...at('a'), deletionTimestamp: '2024-01-01T00:00:00Z' };
    expect(() => fake(v1(kinds.ConfigMap, { metadata: deleting }))).toThrow(
      'refusing to create obj a with metadata.deletionTimestamp but no finalizers',
    );
    expect(() => fake(v1(kinds.ConfigMap, configMap('a')), v1(kinds.ConfigMap, configMap('a')))).toThrow(
      'configmaps "a" already exists',
    );
  });

  test('51. objects of the start keep their version', async () => {
    const own = fake(v1(kinds.ConfigMap, { metadata: { ...at('a'), resourceVersion: '42' } }));
    expect((await own.get(kinds.ConfigMap, at('a'))).metadata?.resourceVersion).toBe('42');
  });
});

describe('create', () => {
  test('52. returns the object with version 1, a UID and a time', async () => {
    const object = configMap('a', { data: { k: '1' } });
    const created = await client.create(kinds.ConfigMap, object);
    expect(created.metadata).toMatchObject({
      resourceVersion: '1',
      creationTimestamp: '2023-11-14T22:13:20Z',
    });
    expect(created.metadata?.uid).toBeDefined();
    expect(object).toEqual(configMap('a', { data: { k: '1' } }));
  });

  test('53. a version is refused, and so is a missing name', async () => {
    const versioned = configMap('a', { metadata: { resourceVersion: '1' } });
    const error = await failure(client.create(kinds.ConfigMap, versioned));
    expect([error.status, error.message]).toEqual([
      400,
      'resourceVersion can not be set for Create requests',
    ]);
    const nameless = await failure(client.create(kinds.ConfigMap, { metadata: { namespace: 'default' } }));
    expect([nameless.status, nameless.reason]).toEqual([422, 'Invalid']);
    expect(nameless.message).toContain('metadata.name: Required value: name is required');
  });

  test('54. what exists: 409 AlreadyExists', async () => {
    const error = await failure(client.create(kinds.ConfigMap, configMap('cm')));
    expect([error.status, error.reason, error.message]).toEqual([
      409,
      'AlreadyExists',
      'configmaps "cm" already exists',
    ]);
  });

  test('55. generateName makes names that differ', async () => {
    const metadata = { namespace: 'default', generateName: 'g-' };
    const [a, b] = await Promise.all([1, 2].map(() => client.create(kinds.ConfigMap, { metadata })));
    expect(a?.metadata?.name).toMatch(/^g-[a-z0-9]{5}$/);
    expect(a?.metadata?.name).not.toBe(b?.metadata?.name);
  });

  test('56. generateName tries again when a name is taken', async () => {
    const numbers = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5];
    const random = { float: () => numbers.shift() ?? 0.9, uuid: () => 'u', hex: () => '' };
    const own = fakeClient({ random });
    const metadata = { namespace: 'default', generateName: 'g-' };
    const a = await own.create(kinds.ConfigMap, { metadata });
    const b = await own.create(kinds.ConfigMap, { metadata });
    expect([a.metadata?.name, b.metadata?.name]).toEqual(['g-bbbbb', expect.stringMatching(/^g-(.)\1{4}$/)]);
    expect(b.metadata?.name).not.toBe('g-bbbbb');
  });

  test('57. a deletion timestamp is dropped', async () => {
    const metadata = { deletionTimestamp: '2024-01-01T00:00:00Z' };
    const created = await client.create(kinds.ConfigMap, configMap('a', { metadata }));
    expect(created.metadata?.deletionTimestamp).toBeUndefined();
  });

  test('58. a dry run answers and stores nothing', async () => {
    const created = await client.create(kinds.ConfigMap, configMap('a'), { dryRun: true });
    expect(created.metadata?.name).toBe('a');
    expect((await failure(client.get(kinds.ConfigMap, at('a')))).status).toBe(404);
  });
});

describe('update', () => {
  test('59. replaces, and counts the version up', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    const updated = await client.update(kinds.ConfigMap, { ...found, data: { b: '2' } });
    expect(updated).toMatchObject({ data: { b: '2' }, metadata: { resourceVersion: '1000' } });
    expect(await client.get(kinds.ConfigMap, at('cm'))).toEqual(updated);
  });

  test('60. of an older version: 409 Conflict as the server words it', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    await client.update(kinds.ConfigMap, found);
    const error = await failure(client.update(kinds.ConfigMap, found));
    expect([error.status, error.reason]).toEqual([409, 'Conflict']);
    expect(error.message).toBe(
      'Operation cannot be fulfilled on configmaps "cm": the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  test('61. without a version: taken for most built-in kinds, refused for custom resources and leases', async () => {
    const updated = await client.update(kinds.ConfigMap, configMap('cm', { data: {} }));
    expect(updated.metadata?.resourceVersion).toBe('1000');
    await client.create(Widget, widget('w'));
    expect((await failure(client.update(Widget, widget('w')))).reason).toBe('Conflict');
    await client.create(kinds.RuntimeClass, { metadata: { name: 'r' }, handler: 'h' });
    const runtime = { metadata: { name: 'r' }, handler: 'h' };
    expect((await failure(client.update(kinds.RuntimeClass, runtime))).reason).toBe('Conflict');
  });

  test('62. of what is not there: 404, but leases are created', async () => {
    expect((await failure(client.update(kinds.ConfigMap, configMap('none')))).status).toBe(404);
    const lease = await client.update(kinds.Lease, { metadata: at('l') });
    expect(lease.metadata?.resourceVersion).toBe('1');
  });

  test('63. a missing name is invalid', async () => {
    const error = await failure(client.update(kinds.ConfigMap, { metadata: { namespace: 'default' } }));
    expect(error.reason).toBe('Invalid');
  });

  test('64. the deletion timestamp cannot be set, changed or removed', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    const marked = { ...found, metadata: { ...found.metadata, deletionTimestamp: '2024-01-01T00:00:00Z' } };
    const error = await failure(client.update(kinds.ConfigMap, marked));
    expect([error.status, error.message]).toEqual([
      422,
      expect.stringContaining(
        'metadata.deletionTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable',
      ),
    ]);
    const held = await client.create(kinds.ConfigMap, configMap('f', { metadata: { finalizers: ['a/b'] } }));
    await client.delete(kinds.ConfigMap, held);
    const deleting = await client.get(kinds.ConfigMap, at('f'));
    const { deletionTimestamp: _gone, ...metadata } = deleting.metadata ?? {};
    expect((await failure(client.update(kinds.ConfigMap, { ...deleting, metadata }))).reason).toBe('Invalid');
    const patch = mergeFrom(deleting);
    expect((await failure(client.patch(kinds.ConfigMap, { ...deleting, metadata }, patch))).status).toBe(422);
  });

  test('65. of another UID: 409', async () => {
    const created = await client.create(kinds.ConfigMap, configMap('a'));
    const other = { ...created, metadata: { ...created.metadata, uid: 'other' } };
    expect((await failure(client.update(kinds.ConfigMap, other))).message).toContain(
      'Precondition failed: UID',
    );
  });

  test('66. a dry run answers and stores nothing', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    const updated = await client.update(kinds.ConfigMap, { ...found, data: {} }, { dryRun: true });
    expect(updated.data).toEqual({});
    expect(await client.get(kinds.ConfigMap, at('cm'))).toEqual(found);
  });

  test('67. of concurrent updates of one version one wins', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    const results = await Promise.allSettled(
      [1, 2, 3].map((i) => client.update(kinds.ConfigMap, { ...found, data: { i: String(i) } })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('finalizers', () => {
  const held = (name = 'f') => configMap(name, { metadata: { finalizers: ['a/b'] }, data: { k: 'v' } });

  test('68. deletion marks the object, the last finalizer removes it', async () => {
    const created = await client.create(kinds.ConfigMap, held());
    clock.set(start + 60_000);
    await client.delete(kinds.ConfigMap, created);
    const marked = await client.get(kinds.ConfigMap, at('f'));
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: '2023-11-14T22:14:20Z',
      resourceVersion: '2',
    });
    await client.update(kinds.ConfigMap, { ...marked, metadata: { ...marked.metadata, finalizers: [] } });
    expect((await failure(client.get(kinds.ConfigMap, at('f')))).status).toBe(404);
  });

  test('69. a second deletion keeps the first time', async () => {
    const created = await client.create(kinds.ConfigMap, held());
    await client.delete(kinds.ConfigMap, created);
    clock.set(start + 60_000);
    await client.delete(kinds.ConfigMap, created);
    const marked = await client.get(kinds.ConfigMap, at('f'));
    expect(marked.metadata?.deletionTimestamp).toBe('2023-11-14T22:13:20Z');
  });

  test('70. a patch and an apply remove the last finalizer too', async () => {
    for (const name of ['f', 'g']) {
      const created = await client.create(kinds.ConfigMap, held(name));
      await client.delete(kinds.ConfigMap, created);
    }
    const marked = await client.get(kinds.ConfigMap, at('f'));
    const patch = mergeFrom(marked);
    await client.patch(
      kinds.ConfigMap,
      { ...marked, metadata: { ...marked.metadata, finalizers: [] } },
      patch,
    );
    expect((await failure(client.get(kinds.ConfigMap, at('f')))).status).toBe(404);
    const steps = [{ op: 'remove', path: '/metadata/finalizers' }];
    await client.patch(kinds.ConfigMap, configMap('g'), rawPatch('json', steps));
    expect((await failure(client.get(kinds.ConfigMap, at('g')))).status).toBe(404);
  });

  test('71. deleteAllOf marks those with finalizers and removes the others', async () => {
    await client.create(kinds.ConfigMap, held());
    await client.deleteAllOf(kinds.ConfigMap, { namespace: 'default' });
    expect(names(await client.list(kinds.ConfigMap))).toEqual(['f']);
    expect((await client.get(kinds.ConfigMap, at('f'))).metadata?.deletionTimestamp).toBeDefined();
  });
});

describe('delete', () => {
  test('72. preconditions', async () => {
    const wrong = { preconditions: { resourceVersion: '1' } };
    const error = await failure(client.delete(kinds.ConfigMap, at('cm'), wrong));
    expect(error.message).toContain(
      'the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (999). The object might have been modified',
    );
    const uid = await failure(client.delete(kinds.ConfigMap, at('cm'), { preconditions: { uid: 'x' } }));
    expect(uid.status).toBe(409);
    await client.delete(kinds.ConfigMap, at('cm'), { preconditions: { resourceVersion: '999' } });
  });

  test('73. without preconditions the version of the object does not matter', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    await client.update(kinds.ConfigMap, found);
    await client.delete(kinds.ConfigMap, found);
    expect((await failure(client.delete(kinds.ConfigMap, found))).status).toBe(404);
  });

  test('74. a dry run deletes nothing', async () => {
    await client.delete(kinds.ConfigMap, at('cm'), { dryRun: true });
    await client.deleteAllOf(kinds.ConfigMap, { dryRun: true });
    expect(await client.list(kinds.ConfigMap)).toHaveLength(1);
  });

  test('75. deleteAllOf by namespace and labels', async () => {
    await client.deleteAllOf(kinds.Deployment, { namespace: 'default', labels: { tier: 'a' } });
    expect(names(await client.list(kinds.Deployment))).toEqual(['other', 'two']);
  });
});

describe('patch', () => {
  test('76. merge, JSON and strategic patches', async () => {
    const found = await client.get(kinds.Deployment, at('one'));
    const changed = structuredClone(found);
    changed.metadata = { ...changed.metadata, annotations: { a: 'b' } };
    const merged = await client.patch(kinds.Deployment, changed, mergeFrom(found));
    expect(merged.metadata).toMatchObject({ annotations: { a: 'b' }, resourceVersion: '1000' });
    const steps = [{ op: 'replace', path: '/spec/replicas', value: 5 }];
    expect((await client.patch(kinds.Deployment, found, rawPatch('json', steps))).spec?.replicas).toBe(5);
    const wider = structuredClone(found);
    wider.spec?.template.spec?.containers.push({ name: 'side', image: 's' });
    const strategic = await client.patch(kinds.Deployment, wider, strategicMergeFrom(found));
    expect(strategic.spec?.template.spec?.containers).toHaveLength(2);
    expect(strategic.spec?.replicas).toBe(5);
  });

  test('77. a strategic patch of a custom resource: 415', async () => {
    await client.create(Widget, widget('w'));
    const error = await failure(client.patch(Widget, widget('w'), rawPatch('strategic', {})));
    expect([error.status, error.reason]).toEqual([415, 'UnsupportedMediaType']);
  });

  test('78. of what is not there: 404; of a step that does not fit: 422', async () => {
    expect((await failure(client.patch(kinds.ConfigMap, configMap('x'), rawPatch('merge', {})))).status).toBe(
      404,
    );
    const steps = [{ op: 'remove', path: '/data/none' }];
    expect(
      (await failure(client.patch(kinds.ConfigMap, configMap('cm'), rawPatch('json', steps)))).status,
    ).toBe(422);
  });

  test('79. patches do not conflict without a version, and do with one', async () => {
    const found = await client.get(kinds.ConfigMap, at('cm'));
    await client.update(kinds.ConfigMap, found);
    const next = { ...found, data: { n: '1' } };
    await client.patch(kinds.ConfigMap, next, mergeFrom(found));
    const error = await failure(client.patch(kinds.ConfigMap, next, mergeFromWithOptimisticLock(found)));
    expect(error.reason).toBe('Conflict');
  });

  test('80. a version of null is ignored', async () => {
    const patch = rawPatch('merge', { metadata: { resourceVersion: null }, data: { a: '1' } });
    const patched = await client.patch(kinds.ConfigMap, configMap('cm'), patch);
    expect(patched.data).toEqual({ k: 'v', a: '1' });
  });

  test('81. a dry run answers and stores nothing', async () => {
    const patch = rawPatch('merge', { data: { a: '1' } });
    const patched = await client.patch(kinds.ConfigMap, configMap('cm'), patch, { dryRun: true });
    expect(patched.data).toEqual({ k: 'v', a: '1' });
    expect((await client.get(kinds.ConfigMap, at('cm'))).data).toEqual({ k: 'v' });
  });

  test('82. concurrent patches all arrive', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        client.patch(kinds.ConfigMap, configMap('cm'), rawPatch('merge', { data: { [`k${i}`]: '1' } })),
      ),
    );
    expect(Object.keys((await client.get(kinds.ConfigMap, at('cm'))).data ?? {})).toHaveLength(21);
  });
});

describe('server-side apply', () => {
  const owner = { fieldOwner: 'me' };

  test('83. creates with version 1, and updates', async () => {
    const created = await client.apply(kinds.ConfigMap, configMap('a', { data: { k: '1' } }), owner);
    expect(created).toMatchObject({ data: { k: '1' }, metadata: { resourceVersion: '1' } });
    const updated = await client.apply(kinds.ConfigMap, configMap('a', { data: { k: '2' } }), owner);
    expect(updated).toMatchObject({ data: { k: '2' }, metadata: { resourceVersion: '2' } });
  });

  test('84. what is no longer applied goes, what others own stays', async () => {
    await client.apply(kinds.ConfigMap, configMap('a', { data: { k: '1', old: '1' } }), owner);
    await client.apply(kinds.ConfigMap, configMap('a', { data: { other: '1' } }), { fieldOwner: 'you' });
    const applied = await client.apply(kinds.ConfigMap, configMap('a', { data: { k: '1' } }), owner);
    expect(applied.data).toEqual({ k: '1', other: '1' });
  });

  test('85. conflicts, and force', async () => {
    await client.apply(kinds.ConfigMap, configMap('a', { data: { k: '1' } }), owner);
    const theirs = configMap('a', { data: { k: '2' } });
    const error = await failure(client.apply(kinds.ConfigMap, theirs, { fieldOwner: 'you' }));
    expect([error.status, error.message]).toEqual([
      409,
      'Apply failed with 1 conflict: conflict with "me": .data.k',
    ]);
    const forced = await client.apply(kinds.ConfigMap, theirs, { fieldOwner: 'you', force: true });
    expect(forced.data).toEqual({ k: '2' });
  });

  test('86. of a custom resource', async () => {
    await client.apply(Widget, widget('w', { spec: { size: 1, color: 'red' } }), owner);
    const applied = await client.apply(Widget, widget('w', { spec: { size: 2 } }), owner);
    expect(applied.spec).toEqual({ size: 2 });
  });

  test('87. lists are merged by their keys', async () => {
    const container = (name: string): Deployment =>
      deployment('one', {
        spec: {
          selector: {},
          template: { spec: { containers: [{ name, image: name }] } },
        },
      });
    const applied = await client.apply(kinds.Deployment, container('side'), owner);
    expect(applied.spec?.template.spec?.containers.map(({ name }) => name)).toEqual(['main', 'side']);
  });

  test('88. needs an owner, and no managed fields', async () => {
    const error = await failure(client.patch(kinds.ConfigMap, configMap('a'), applyConfiguration));
    expect(error.message).toContain('fieldManager: Required value');
    const managed = configMap('a', { metadata: { managedFields: [{ manager: 'x' }] } });
    expect((await failure(client.apply(kinds.ConfigMap, managed, owner))).message).toBe(
      'metadata.managedFields must be nil',
    );
  });

  test('89. a UID without an object: 409; a version does not matter for a new object, and must fit for others', async () => {
    const withUid = configMap('a', { metadata: { uid: 'u' } });
    expect((await failure(client.apply(kinds.ConfigMap, withUid, owner))).message).toContain(
      'uid mismatch: the provided object specified uid u, and no existing object was found',
    );
    const versioned = configMap('a', { metadata: { resourceVersion: '77' } });
    const created = await client.apply(kinds.ConfigMap, versioned, owner);
    expect(created.metadata?.resourceVersion).toBe('1');
    expect((await failure(client.apply(kinds.ConfigMap, versioned, owner))).reason).toBe('Conflict');
  });

  test('90. a deletion timestamp is ignored', async () => {
    await client.create(kinds.ConfigMap, configMap('f', { metadata: { finalizers: ['a/b'] } }));
    const metadata = { deletionTimestamp: '2024-01-01T00:00:00Z', finalizers: ['a/b'] };
    const applied = await client.apply(kinds.ConfigMap, configMap('f', { metadata }), owner);
    expect(applied.metadata?.deletionTimestamp).toBeUndefined();
  });

  test('91. managed fields are returned if that is wanted, and name the owner of each write', async () => {
    const own = fakeClient({ returnManagedFields: true, clock });
    await own.create(kinds.ConfigMap, configMap('a', { data: { k: '1' } }), { fieldOwner: 'creator' });
    await own.patch(kinds.ConfigMap, configMap('a'), rawPatch('merge', { data: { p: '1' } }), {
      fieldOwner: 'patcher',
    });
    const applied = await own.apply(kinds.ConfigMap, configMap('a', { data: { x: '1' } }), owner);
    expect(
      applied.metadata?.managedFields?.map(({ manager, operation }) => `${manager ?? ''} ${operation ?? ''}`),
    ).toEqual(['me Apply', 'creator Update', 'patcher Update']);
    expect((await client.get(kinds.ConfigMap, at('cm'))).metadata?.managedFields).toBeUndefined();
  });
});

describe('status', () => {
  beforeEach(async () => {
    await client.create(Widget, widget('w', { spec: { size: 1 }, status: { size: 1 } }));
  });

  test('92. an update and a patch of the object change no status', async () => {
    const found = await client.get(Widget, at('w'));
    const updated = await client.update(Widget, { ...found, spec: { size: 2 }, status: { size: 9 } });
    expect(updated).toMatchObject({ spec: { size: 2 }, status: { size: 1 } });
    const patch = rawPatch('merge', { spec: { size: 3 }, status: { size: 9 } });
    expect(await client.patch(Widget, widget('w'), patch)).toMatchObject({
      spec: { size: 3 },
      status: { size: 1 },
    });
  });

  test('93. an update, a patch and an apply of the status change nothing else', async () => {
    const found = await client.get(Widget, at('w'));
    const metadata = { ...found.metadata, labels: { no: '1' } };
    const updated = await client.status.update(Widget, { metadata, spec: { size: 9 }, status: { size: 2 } });
    expect(updated).toMatchObject({ spec: { size: 1 }, status: { size: 2 } });
    expect(updated.metadata?.labels).toBeUndefined();
    const patch = rawPatch('merge', { spec: { size: 9 }, status: { ready: true } });
    expect(await client.status.patch(Widget, widget('w'), patch)).toMatchObject({
      spec: { size: 1 },
      status: { size: 2, ready: true },
    });
    const applied = await client.status.apply(
      Widget,
      widget('w', { spec: { size: 9 }, status: { size: 5 } }),
      { fieldOwner: 'me', force: true },
    );
    expect(applied).toMatchObject({ spec: { size: 1 }, status: { size: 5, ready: true } });
  });

  test('94. a status update of an older version: 409', async () => {
    const found = await client.get(Widget, at('w'));
    await client.update(Widget, found);
    expect((await failure(client.status.update(Widget, found))).reason).toBe('Conflict');
  });

  test('95. updates of object and status follow each other by the version that each returns', async () => {
    const found = await client.get(Widget, at('w'));
    const one = await client.status.update(Widget, { ...found, status: { size: 2 } });
    const two = await client.update(Widget, { ...one, spec: { size: 2 } });
    const three = await client.status.update(Widget, { ...two, status: { size: 3 } });
    expect(three).toMatchObject({ spec: { size: 2 }, status: { size: 3 } });
  });

  test('96. a status of a kind without that subresource: 404', async () => {
    const kind = defineKind({ group: 'any.io', version: 'v1', kind: 'Thing' });
    const created = await client.create(kind, { metadata: at('t') });
    const error = await failure(client.status.update(kind, created));
    expect([error.status, error.message]).toEqual([404, 'things.any.io "t" not found']);
    expect((await failure(client.status.update(kinds.ConfigMap, configMap('cm')))).status).toBe(404);
  });

  test('97. built-in kinds have it without being named', async () => {
    const found = await client.get(kinds.Deployment, at('one'));
    const updated = await client.update(kinds.Deployment, { ...found, status: { replicas: 3 } });
    expect(updated.status).toBeUndefined();
    const status = await client.status.update(kinds.Deployment, { ...updated, status: { replicas: 3 } });
    expect(status.status).toEqual({ replicas: 3 });
  });

  test('98. an apply of the object drops a status', async () => {
    const applied = await client.apply(Widget, widget('new', { status: { size: 1 } }), { fieldOwner: 'me' });
    expect(applied.status).toBeUndefined();
    const missing = client.status.apply(Widget, widget('none', { status: {} }), { fieldOwner: 'me' });
    expect((await failure(missing)).status).toBe(404);
  });
});

describe('other subresources', () => {
  test('99. scale of workloads', async () => {
    const found = await client.get(kinds.Deployment, at('one'));
    const scale = client.subResource('scale');
    const read = await scale.get(kinds.Deployment, found);
    expect(read).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 1 },
      status: { replicas: 0, selector: 'app=one' },
      metadata: { name: 'one', resourceVersion: '999' },
    });
    const body = { ...read, spec: { replicas: 3 } } as KubeObject;
    await scale.update(kinds.Deployment, found, { subResourceBody: body });
    expect((await client.get(kinds.Deployment, at('one'))).spec?.replicas).toBe(3);
    expect((await failure(scale.update(kinds.Deployment, found, { subResourceBody: body }))).reason).toBe(
      'Conflict',
    );
    await scale.patch(kinds.Deployment, found, rawPatch('merge', { spec: { replicas: 4 } }));
    expect((await client.get(kinds.Deployment, at('one'))).spec?.replicas).toBe(4);
  });

  test('99a. a scale is applied; another owner of the replicas is a conflict unless forced', async () => {
    const scale = client.subResource('scale');
    const found = await client.get(kinds.Deployment, at('one'));
    const subResourceBody = { kind: 'Scale', metadata: at('one'), spec: { replicas: 5 } } as KubeObject;
    const apply = (fieldOwner: string, replicas: number) =>
      scale.apply(kinds.Deployment, found, {
        fieldOwner,
        subResourceBody: { ...subResourceBody, spec: { replicas } } as KubeObject,
      });
    expect((await apply('hpa', 5)).spec?.replicas).toBe(5);
    expect((await failure(apply('other', 6))).reason).toBe('Conflict');
    const forced = { fieldOwner: 'other', force: true, subResourceBody };
    expect((await scale.apply(kinds.Deployment, found, forced)).spec?.replicas).toBe(5);
    expect((await failure(scale.apply(kinds.Deployment, found, { fieldOwner: 'hpa' }))).message).toBe(
      'missing SubResourceBody',
    );
  });

  test('100. scale of custom resources with replicas; of other kinds 404, without a body 400', async () => {
    const kind = defineKind({ group: 'any.io', version: 'v1', kind: 'Thing' });
    const thing = await client.create(kind, { metadata: at('t'), spec: { replicas: 2 } });
    const scale = client.subResource('scale');
    expect(await scale.get(kind, thing)).toMatchObject({ spec: { replicas: 2 } });
    expect((await failure(scale.get(kinds.ConfigMap, configMap('cm')))).status).toBe(404);
    expect((await failure(scale.update(kind, thing))).message).toBe('missing SubResourceBody');
    expect((await failure(scale.get(kinds.Deployment, deployment('none')))).status).toBe(404);
  });

  test('101. eviction deletes a pod', async () => {
    await client.create(kinds.Pod, pod('p'));
    await client.subResource('eviction').create(kinds.Pod, pod('p'), { kind: 'Eviction' });
    expect((await failure(client.get(kinds.Pod, at('p')))).status).toBe(404);
    const evict = (kind: Kind, object: KubeObject, body: KubeObject) =>
      failure(client.subResource('eviction').create(kind, object, body));
    expect((await evict(kinds.Pod, pod('p'), {})).status).toBe(404);
    expect((await evict(kinds.ConfigMap, configMap('cm'), {})).status).toBe(404);
    expect((await evict(kinds.Pod, pod('p'), { kind: 'Pod' })).message).toBe(
      'got invalid type Pod, expected Eviction',
    );
  });

  test('102. a token of a service account, and a binding of a pod', async () => {
    const account = await client.create(kinds.ServiceAccount, { metadata: at('sa') });
    const token = await client.subResource('token').create(kinds.ServiceAccount, account, {});
    expect(token).toMatchObject({ status: { token: 'fake-token' } });
    await client.create(kinds.Pod, pod('p'));
    await client
      .subResource('binding')
      .create(kinds.Pod, pod('p'), { target: { kind: 'Node', name: 'n1' } } as KubeObject);
    expect((await client.get(kinds.Pod, at('p'))).spec?.nodeName).toBe('n1');
    expect((await failure(client.subResource('x').create(kinds.Pod, pod('p'), {}))).status).toBe(405);
  });
});

describe('indexes', () => {
  const byReplicas = {
    kind: kinds.Deployment,
    field: 'spec.replicas',
    extract: (object: KubeObject) => [String((object as Deployment).spec?.replicas)],
  };
  const byApp = {
    kind: kinds.Deployment,
    field: 'app',
    extract: (object: KubeObject) => [object.metadata?.labels?.['app'] ?? ''],
  };

  test('103. select lists by fields, together with labels', async () => {
    const objects = [
      v1(kinds.Deployment, deployment('a', { metadata: { labels: { app: 'x' } } })),
      v1(kinds.Deployment, deployment('b', { metadata: { labels: { app: 'y' } } })),
    ];
    const own = fakeClient({ objects, indexes: [byReplicas, byApp] });
    const by = (options: object) => own.list(kinds.Deployment, options).then(names);
    expect(await by({ fields: { 'spec.replicas': '1' } })).toEqual(['a', 'b']);
    expect(await by({ fields: { 'spec.replicas': '2' } })).toEqual([]);
    expect(await by({ fields: { 'spec.replicas': '1', app: 'y' } })).toEqual(['b']);
    expect(await by({ fields: { 'spec.replicas': '1' }, labels: { app: 'x' } })).toEqual(['a']);
    expect(await by({ fields: { app: 'x' }, labels: { app: 'y' } })).toEqual([]);
  });

  test('104. a field without an index is refused, and an index twice', async () => {
    const error = await failure(client.list(kinds.Deployment, { fields: { 'spec.paused': 'true' } }));
    expect(error.message).toContain('no index with name spec.paused has been registered');
    expect(() => fakeClient({ indexes: [byApp, byApp] })).toThrow('indexer conflict');
  });
});

describe('watch', () => {
  test('105. first what exists, then each change, until the signal', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const loop = (async () => {
      for await (const { type, object } of client.watch(kinds.ConfigMap, { signal: stop.signal }))
        seen.push(`${type} ${object.metadata?.name ?? ''}`);
    })();
    await client.create(kinds.ConfigMap, configMap('a'));
    await client.update(kinds.ConfigMap, configMap('a', { data: { k: '1' } }));
    await client.delete(kinds.ConfigMap, at('a'));
    await expect.poll(() => seen).toEqual(['ADDED cm', 'ADDED a', 'MODIFIED a', 'DELETED a']);
    stop.abort();
    await loop;
  });

  test('106. with a selector, an object that leaves it is deleted', async () => {
    const seen: string[] = [];
    const watch = client.watch(kinds.ConfigMap, { labels: { in: '1' }, resourceVersion: '0' });
    const label = (value?: string) =>
      client.update(kinds.ConfigMap, configMap('cm', { metadata: value ? { labels: { in: value } } : {} }));
    await label('1');
    await label('1');
    await label();
    await client.create(kinds.ConfigMap, configMap('ignored'));
    for await (const { type, object } of watch) {
      seen.push(`${type} ${object.metadata?.name ?? ''}`);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(['ADDED cm', 'MODIFIED cm', 'DELETED cm']);
  });
});

describe('interceptors', () => {
  test('107. run instead of a call, with the client behind them', async () => {
    const calls: string[] = [];
    const own = fakeClient({
      interceptors: {
        get: (inner, kind, key, options) => {
          calls.push(`get ${key.name}`);
          return inner.get(kind, key, options);
        },
        update: () => Promise.reject(new ApiError(409, { reason: 'Conflict', message: 'no' })),
        subResourcePatch: (_inner, name, _kind, object) => {
          calls.push(`patch ${name}`);
          return Promise.resolve(object);
        },
      },
    });
    await own.create(kinds.ConfigMap, configMap('a'));
    await own.get(kinds.ConfigMap, at('a'));
    expect((await failure(own.update(kinds.ConfigMap, configMap('a')))).message).toBe('no');
    await own.status.patch(kinds.Pod, pod('p'), rawPatch('merge', {}));
    expect(calls).toEqual(['get a', 'patch status']);
  });
});
