import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { newClient, type OwnedClient } from '../../../src/controller/client/new-client.ts';
import {
  applyConfiguration,
  mergeFrom,
  mergeFromWithOptimisticLock,
  rawPatch,
  strategicMergeFrom,
} from '../../../src/controller/client/patches.ts';
import { defineKind, kinds } from '../../../src/controller/kinds.ts';
import type { KubeObject, UnstructuredObject } from '../../../src/controller/types.ts';
import {
  configMap,
  connectionTo,
  deployment,
  failure,
  names,
  pod,
  startServer,
  Widget,
  widget,
  widgetDefinition,
} from '../support.ts';

let server: EmbeddedApiServer;
let client: OwnedClient;
let turn = 0;
let ns = '';
beforeAll(async () => {
  server = await startServer();
  client = newClient(connectionTo(server));
  await client.create(kinds.CustomResourceDefinition, widgetDefinition);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});
beforeEach(async () => {
  ns = `ns-${turn++}`;
  await client.create(kinds.Namespace, { metadata: { name: ns } });
});

const config = (name: string, labels: Record<string, string> = {}, data: Record<string, string> = {}) =>
  configMap(name, { metadata: { namespace: ns, name, labels }, data });

describe('create', () => {
  test('1. stores an object and returns it as the server has it', async () => {
    const created = await client.create(kinds.ConfigMap, config('a', { x: '1' }, { k: 'v' }));
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { k: 'v' } });
    expect(created.metadata?.uid).toMatch(/-/);
    expect(await client.get(kinds.ConfigMap, { namespace: ns, name: 'a' })).toEqual(created);
  });

  test('2. does not change the object that it receives', async () => {
    const object = config('a');
    await client.create(kinds.ConfigMap, object);
    expect(object).toEqual(config('a'));
  });

  test('3. an object that exists is refused with AlreadyExists', async () => {
    await client.create(kinds.ConfigMap, config('a'));
    const error = await failure(client.create(kinds.ConfigMap, config('a')));
    expect([error.status, error.reason]).toEqual([409, 'AlreadyExists']);
  });

  test('4. a cluster-scoped object is created without its namespace', async () => {
    const created = await client.create(kinds.Namespace, {
      metadata: { name: `${ns}-x`, namespace: 'ignored' },
    });
    expect(created.metadata?.namespace).toBeUndefined();
  });

  test('5. generateName makes a name', async () => {
    const created = await client.create(kinds.ConfigMap, {
      metadata: { namespace: ns, generateName: 'g-' },
    });
    expect(created.metadata?.name).toMatch(/^g-\w{5}$/);
  });

  test('6. an object of another kind is refused before it is sent', async () => {
    const wrong = { ...config('a'), kind: 'Secret' };
    await expect(client.create(kinds.ConfigMap, wrong)).rejects.toThrow(
      'the object is of kind  Secret, but the call is for v1 ConfigMap',
    );
  });

  test('7. a dry run stores nothing', async () => {
    await client.create(kinds.ConfigMap, config('a'), { dryRun: true });
    expect((await failure(client.get(kinds.ConfigMap, { namespace: ns, name: 'a' }))).status).toBe(404);
  });

  test('8. strict field validation refuses an unknown field', async () => {
    const wrong = { ...config('a'), dta: {} } as KubeObject;
    const error = await failure(client.create(kinds.ConfigMap, wrong, { fieldValidation: 'Strict' }));
    expect(error.message).toContain('unknown field "dta"');
  });

  test('9. the field owner owns what it writes', async () => {
    const created = await client.create(kinds.ConfigMap, config('a', {}, { k: 'v' }), { fieldOwner: 'me' });
    expect(created.metadata?.managedFields?.[0]).toMatchObject({ manager: 'me', operation: 'Update' });
  });
});

describe('get', () => {
  test('10. an object that is not there: 404, NotFound, with its name', async () => {
    const error = await failure(client.get(kinds.Deployment, { namespace: ns, name: 'none' }));
    expect([error.status, error.reason]).toEqual([404, 'NotFound']);
    expect(error.message).toBe('deployments.apps "none" not found');
  });

  test('11. a namespaced kind needs a namespace, every kind a name', async () => {
    await expect(client.get(kinds.Pod, { name: 'a' })).rejects.toThrow('a namespace must be set');
    await expect(client.get(kinds.Node, { name: '' })).rejects.toThrow('may not be empty');
  });

  test('12. a cluster-scoped kind ignores the namespace', async () => {
    const found = await client.get(kinds.Namespace, { namespace: 'x', name: ns });
    expect(found.metadata?.name).toBe(ns);
  });

  test('13. metadata only', async () => {
    await client.create(kinds.ConfigMap, config('a', { x: '1' }, { k: 'v' }));
    const found = await client.get(kinds.ConfigMap, { namespace: ns, name: 'a' }, { metadataOnly: true });
    expect(Object.keys(found).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    expect(found).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels: { x: '1' } } });
  });

  test('14. a kind without types: unstructured', async () => {
    const kind = defineKind({ group: 'example.com', version: 'v1', kind: 'Widget' });
    await client.create(kind, { metadata: { namespace: ns, name: 'w' }, spec: { anything: [1] } });
    const found: UnstructuredObject = await client.get(kind, { namespace: ns, name: 'w' });
    expect(found['spec']).toEqual({ anything: [1] });
  });

  test('15. a kind that is not served: 404', async () => {
    const kind = defineKind({ group: 'none.io', version: 'v1', kind: 'None' });
    expect((await failure(client.list(kind))).status).toBe(404);
  });
});

describe('list', () => {
  beforeEach(async () => {
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
    ] as const)
      await client.create(kinds.ConfigMap, config(name, { app }));
  });

  test('16. of a namespace, and of all', async () => {
    expect(names(await client.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['a', 'b', 'c']);
    const all = await client.list(kinds.ConfigMap);
    expect(all.filter(({ metadata }) => metadata?.namespace === ns)).toHaveLength(3);
  });

  test('17. by labels as members and as text', async () => {
    const by = (labels: Record<string, string> | string) =>
      client.list(kinds.ConfigMap, { namespace: ns, labels }).then(names);
    expect(await by({ app: 'x' })).toEqual(['a', 'b']);
    expect(await by('app in (y),app')).toEqual(['c']);
    expect(await by('app!=x')).toEqual(['c']);
  });

  test('18. by fields', async () => {
    const found = await client.list(kinds.ConfigMap, { namespace: ns, fields: { 'metadata.name': 'b' } });
    expect(names(found)).toEqual(['b']);
  });

  test('19. items have their kind and version', async () => {
    const [first] = await client.list(kinds.ConfigMap, { namespace: ns });
    expect(first).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  test('20. page by page with a limit, whole without one', async () => {
    const first = await client.list(kinds.ConfigMap, { namespace: ns, limit: 2 });
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.remainingItemCount).toBe(1);
    const second = await client.list(kinds.ConfigMap, { namespace: ns, limit: 2, continue: first.continue });
    expect(names(second)).toEqual(['c']);
    expect(second.continue).toBe('');
    expect(Number(second.resourceVersion)).toBeGreaterThan(0);
  });

  test('21. metadata only', async () => {
    const [first] = await client.list(kinds.ConfigMap, { namespace: ns, metadataOnly: true });
    expect(Object.keys(first ?? {}).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    expect(first?.kind).toBe('ConfigMap');
    // the server writes it as `items: null`
    expect(await client.list(kinds.Secret, { namespace: ns, metadataOnly: true })).toEqual([]);
  });
});

describe('update', () => {
  test('22. replaces the object', async () => {
    const created = await client.create(kinds.ConfigMap, config('a', {}, { k: 'v' }));
    const updated = await client.update(kinds.ConfigMap, { ...created, data: { other: '1' } });
    expect(updated.data).toEqual({ other: '1' });
    expect(updated.metadata?.resourceVersion).not.toBe(created.metadata?.resourceVersion);
  });

  test('23. of an older version: 409 Conflict', async () => {
    const created = await client.create(kinds.ConfigMap, config('a'));
    await client.update(kinds.ConfigMap, { ...created, data: { k: '1' } });
    const error = await failure(client.update(kinds.ConfigMap, { ...created, data: { k: '2' } }));
    expect([error.status, error.reason]).toEqual([409, 'Conflict']);
    expect(error.message).toContain('the object has been modified');
  });

  test('24. of an object that is not there: 404', async () => {
    expect((await failure(client.update(kinds.ConfigMap, config('none')))).status).toBe(404);
  });
});

describe('status and other subresources', () => {
  test('25. an update of a status changes nothing else, an update of the object no status', async () => {
    const created = await client.create(
      Widget,
      widget('w', { metadata: { namespace: ns }, spec: { size: 1 } }),
    );
    const status = await client.status.update(Widget, {
      ...created,
      spec: { size: 9 },
      status: { ready: true },
    });
    expect(status).toMatchObject({ spec: { size: 1 }, status: { ready: true } });
    const updated = await client.update(Widget, { ...status, spec: { size: 2 }, status: { ready: false } });
    expect(updated).toMatchObject({ spec: { size: 2 }, status: { ready: true } });
  });

  test('26. a patch of a status', async () => {
    const created = await client.create(Widget, widget('w', { metadata: { namespace: ns } }));
    const patch = mergeFrom(created);
    created.status = { size: 3 };
    const patched = await client.status.patch(Widget, created, patch);
    expect(patched.status).toEqual({ size: 3 });
  });

  test('27. an apply of a status', async () => {
    await client.create(Widget, widget('w', { metadata: { namespace: ns } }));
    const applied = await client.status.apply(
      Widget,
      widget('w', { metadata: { namespace: ns }, status: { ready: true } }),
      { fieldOwner: 'me' },
    );
    expect(applied.status).toEqual({ ready: true });
    expect(applied.metadata?.managedFields?.find(({ manager }) => manager === 'me')).toMatchObject({
      subresource: 'status',
      operation: 'Apply',
    });
  });

  test('28. scale is read and written', async () => {
    const created = await client.create(
      Widget,
      widget('w', { metadata: { namespace: ns }, spec: { size: 1 } }),
    );
    const scale = client.subResource('scale');
    const found = await scale.get(Widget, created);
    expect(found).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } });
    const body = { ...found, spec: { replicas: 4 } } as KubeObject;
    await scale.update(Widget, created, { subResourceBody: body });
    expect((await client.get(Widget, { namespace: ns, name: 'w' })).spec?.size).toBe(4);
    await scale.patch(Widget, created, rawPatch('merge', { spec: { replicas: 2 } }));
    expect((await client.get(Widget, { namespace: ns, name: 'w' })).spec?.size).toBe(2);
    const applied = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'w', namespace: ns } };
    const subResourceBody = { ...applied, spec: { replicas: 3 } } as KubeObject;
    await scale.apply(Widget, created, { fieldOwner: 'hpa', force: true, subResourceBody });
    expect((await client.get(Widget, { namespace: ns, name: 'w' })).spec?.size).toBe(3);
  });

  test('29. a pod is evicted, a token is issued', async () => {
    const created = await client
      .create(kinds.Pod, pod('p', { metadata: { namespace: ns } }))
      .catch(async () => {
        await client.create(kinds.ServiceAccount, { metadata: { namespace: ns, name: 'default' } });
        return client.create(kinds.Pod, pod('p', { metadata: { namespace: ns } }));
      });
    await client.subResource('eviction').create(kinds.Pod, created, {});
    expect((await failure(client.get(kinds.Pod, { namespace: ns, name: 'p' }))).status).toBe(404);
    const account = await client.get(kinds.ServiceAccount, { namespace: ns, name: 'default' });
    const token = await client
      .subResource('token')
      .create(kinds.ServiceAccount, account, { spec: { audiences: ['me'] } } as KubeObject);
    expect(token).toMatchObject({
      kind: 'TokenRequest',
      status: { token: expect.stringMatching(/^ey/) as string },
    });
  });
});

describe('patch', () => {
  test('30. mergeFrom sends only what changed, also of the same object', async () => {
    const created = await client.create(kinds.ConfigMap, config('a', { x: '1' }, { k: 'v', old: '1' }));
    const patch = mergeFrom(created);
    created.data = { k: 'v', fresh: '2' };
    expect(patch.data(created)).toEqual({ data: { old: null, fresh: '2' } });
    const patched = await client.patch(kinds.ConfigMap, created, patch);
    expect(patched.data).toEqual({ k: 'v', fresh: '2' });
  });

  test('31. mergeFrom does not conflict, mergeFromWithOptimisticLock does', async () => {
    const created = await client.create(kinds.ConfigMap, config('a'));
    await client.update(kinds.ConfigMap, { ...created, data: { other: '1' } });
    const patched = await client.patch(kinds.ConfigMap, { ...created, data: { k: '1' } }, mergeFrom(created));
    expect(patched.data).toEqual({ other: '1', k: '1' });
    const lock = mergeFromWithOptimisticLock(created);
    expect(lock.data({ ...created, data: { k: '2' } } as KubeObject)).toEqual({
      data: { k: '2' },
      metadata: { resourceVersion: created.metadata?.resourceVersion },
    });
    const error = await failure(client.patch(kinds.ConfigMap, { ...created, data: { k: '2' } }, lock));
    expect(error.reason).toBe('Conflict');
  });

  test('32. an optimistic lock needs the version of the original', () => {
    const patch = mergeFromWithOptimisticLock(config('a'));
    expect(() => patch.data(config('a'))).toThrow('needs metadata.resourceVersion of the original a');
  });

  test('33. strategicMergeFrom patches lists by their keys', async () => {
    const created = await client.create(kinds.Deployment, deployment('d', { metadata: { namespace: ns } }));
    const changed = structuredClone(created);
    changed.spec?.template.spec?.containers.push({ name: 'side', image: 'side' });
    const other = structuredClone(created);
    const [main] = other.spec?.template.spec?.containers ?? [];
    if (main) main.image = 'newer';
    await client.update(kinds.Deployment, other);
    const patched = await client.patch(kinds.Deployment, changed, strategicMergeFrom(created));
    expect(patched.spec?.template.spec?.containers.map(({ name, image }) => [name, image])).toEqual([
      ['main', 'newer'],
      ['side', 'side'],
    ]);
  });

  test('34. strategicMergeFrom of a custom resource says why not', async () => {
    const patch = strategicMergeFrom(widget('w'));
    await expect(client.patch(Widget, widget('w'), patch)).rejects.toThrow(
      'example.com/v1 Widget is no built-in kind; use mergeFrom',
    );
  });

  test('35. a JSON patch', async () => {
    const created = await client.create(kinds.ConfigMap, config('a', {}, { k: 'v' }));
    const steps = [{ op: 'replace', path: '/data/k', value: 'w' }];
    const patched = await client.patch(kinds.ConfigMap, created, rawPatch('json', steps));
    expect(patched.data).toEqual({ k: 'w' });
  });

  test('36. apply as a patch, and as a call', async () => {
    const first = await client.patch(kinds.ConfigMap, config('a', {}, { k: 'v' }), applyConfiguration, {
      fieldOwner: 'one',
    });
    expect(first.data).toEqual({ k: 'v' });
    const error = await failure(
      client.apply(kinds.ConfigMap, config('a', {}, { k: 'w' }), { fieldOwner: 'two' }),
    );
    // the empty labels are owned as well
    expect(error.message).toContain('conflicts with "one":\n- .data.k\n- .metadata.labels');
    const forced = await client.apply(kinds.ConfigMap, config('a', {}, { k: 'w' }), {
      fieldOwner: 'two',
      force: true,
    });
    expect(forced.data).toEqual({ k: 'w' });
  });

  test('37. apply without an owner, and force without apply, are refused as the server does', async () => {
    const apply = await failure(client.patch(kinds.ConfigMap, config('a'), applyConfiguration));
    expect(apply.status).toBe(422);
    expect(apply.message).toContain('fieldManager: Required value: is required for apply patch');
    const merge = await failure(
      client.patch(kinds.ConfigMap, config('a'), rawPatch('merge', {}), { force: true }),
    );
    expect(merge.message).toContain('may not be specified for non-apply patch');
  });
});

describe('delete', () => {
  test('38. by object and by key', async () => {
    const created = await client.create(kinds.ConfigMap, config('a'));
    await client.delete(kinds.ConfigMap, created);
    await client.create(kinds.ConfigMap, config('b'));
    await client.delete(kinds.ConfigMap, { namespace: ns, name: 'b' });
    expect(await client.list(kinds.ConfigMap, { namespace: ns })).toHaveLength(0);
  });

  test('39. preconditions on UID and version', async () => {
    const created = await client.create(kinds.ConfigMap, config('a'));
    const error = await failure(client.delete(kinds.ConfigMap, created, { preconditions: { uid: 'other' } }));
    expect(error.status).toBe(409);
    const resourceVersion = created.metadata?.resourceVersion ?? '';
    await client.delete(kinds.ConfigMap, created, { preconditions: { resourceVersion } });
  });

  test('40. a dry run deletes nothing', async () => {
    const created = await client.create(kinds.ConfigMap, config('a'));
    await client.delete(kinds.ConfigMap, created, { dryRun: true });
    expect(await client.get(kinds.ConfigMap, { namespace: ns, name: 'a' })).toEqual(created);
  });

  test('41. an object with a finalizer stays until the finalizer goes', async () => {
    const created = await client.create(
      kinds.ConfigMap,
      configMap('a', { metadata: { namespace: ns, finalizers: ['example.com/f'] } }),
    );
    await client.delete(kinds.ConfigMap, created);
    const held = await client.get(kinds.ConfigMap, { namespace: ns, name: 'a' });
    expect(held.metadata?.deletionTimestamp).toBeDefined();
    await client.update(kinds.ConfigMap, { ...held, metadata: { ...held.metadata, finalizers: [] } });
    expect((await failure(client.get(kinds.ConfigMap, { namespace: ns, name: 'a' }))).status).toBe(404);
  });

  test('42. deleteAllOf by namespace, labels and fields', async () => {
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
      ['d', 'y'],
    ] as const)
      await client.create(kinds.ConfigMap, config(name, { app }));
    await client.deleteAllOf(kinds.ConfigMap, { namespace: ns, labels: { app: 'x' } });
    expect(names(await client.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['c', 'd']);
    await client.deleteAllOf(kinds.ConfigMap, { namespace: ns, fields: { 'metadata.name': 'c' } });
    expect(names(await client.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['d']);
    await client.deleteAllOf(kinds.ConfigMap, { namespace: ns, dryRun: true });
    expect(names(await client.list(kinds.ConfigMap, { namespace: ns }))).toEqual(['d']);
  });
});

test('43. a call ends with its signal', async () => {
  const stop = new AbortController();
  const call = client.list(kinds.ConfigMap, { signal: stop.signal });
  stop.abort();
  await expect(call).rejects.toThrow();
});
