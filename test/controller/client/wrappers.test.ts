import { beforeEach, describe, expect, test } from 'vitest';
import { interceptClient } from '../../../src/controller/client/interceptor.ts';
import { rawPatch } from '../../../src/controller/client/patches.ts';
import {
  newDryRunClient,
  newNamespacedClient,
  withFieldOwner,
  withFieldValidation,
} from '../../../src/controller/client/wrappers.ts';
import { fakeClient } from '../../../src/controller/fake/index.ts';
import { kinds } from '../../../src/controller/kinds.ts';
import type { Client } from '../../../src/controller/types.ts';
import { configMap, failure, names, Widget, widget } from '../support.ts';

const at = (name: string) => ({ namespace: 'default', name });
let inner: Client;
beforeEach(async () => {
  inner = fakeClient({ withStatusSubresource: [Widget], returnManagedFields: true });
  await inner.create(Widget, widget('w', { spec: { size: 1 } }), { fieldOwner: 'first' });
});

describe('newDryRunClient', () => {
  test('166. stores nothing, whatever is called', async () => {
    const client = newDryRunClient(inner);
    const before = await inner.get(Widget, at('w'));
    await client.create(Widget, widget('new'));
    await client.update(Widget, { ...before, spec: { size: 2 } });
    await client.patch(Widget, before, rawPatch('merge', { spec: { size: 2 } }));
    await client.apply(Widget, widget('w', { spec: { size: 2 } }), { fieldOwner: 'x', force: true });
    await client.status.update(Widget, { ...before, status: { size: 2 } });
    await client.status.patch(Widget, before, rawPatch('merge', { status: { size: 2 } }));
    await client.delete(Widget, before);
    await client.deleteAllOf(Widget, {});
    expect(await client.list(Widget)).toEqual([before]);
  });

  test('167. wins over an option of the call', async () => {
    await newDryRunClient(inner).create(Widget, widget('new'), { dryRun: false });
    expect((await failure(inner.get(Widget, at('new')))).status).toBe(404);
  });
});

describe('withFieldOwner', () => {
  const owners = async (name: string): Promise<string[]> =>
    ((await inner.get(Widget, at(name))).metadata?.managedFields ?? []).map(({ manager }) => manager ?? '');

  test('168. names the owner of every write, unless the call does', async () => {
    const client = withFieldOwner(inner, 'me');
    const created = await client.create(Widget, widget('a', { spec: { size: 1 } }));
    expect(await owners('a')).toEqual(['me']);
    await client.patch(Widget, created, rawPatch('merge', { spec: { color: 'red' } }), { fieldOwner: 'you' });
    expect(await owners('a')).toEqual(['me', 'you']);
    await client.status.patch(Widget, created, rawPatch('merge', { status: { size: 1 } }));
    const status = (await inner.get(Widget, at('a'))).metadata?.managedFields?.find(
      ({ subresource }) => subresource === 'status',
    );
    expect(status?.manager).toBe('me');
    await client.apply(Widget, widget('b', { spec: { size: 1 } }), {} as never);
    expect(await owners('b')).toEqual(['me']);
  });
});

describe('withFieldValidation', () => {
  test('169. is the default of every write, not of reads and deletions', async () => {
    const seen: unknown[] = [];
    const spy = interceptClient(inner, {
      create: (client, kind, object, options) => {
        seen.push(options?.fieldValidation);
        return client.create(kind, object, options);
      },
      subResourceUpdate: (client, _name, kind, object, options) => {
        seen.push(options?.fieldValidation);
        return client.update(kind, object, options);
      },
      delete: (client, kind, object, options) => {
        seen.push(options);
        return client.delete(kind, object, options);
      },
    });
    const client = withFieldValidation(spy, 'Strict');
    const created = await client.create(Widget, widget('a'));
    await client.create(Widget, widget('b'), { fieldValidation: 'Ignore' });
    await client.status.update(Widget, created);
    await client.delete(Widget, created);
    expect(seen).toEqual(['Strict', 'Ignore', 'Strict', {}]);
  });
});

describe('newNamespacedClient', () => {
  test('170. adds its namespace to every call for a namespaced kind', async () => {
    const client = newNamespacedClient(inner, 'mine');
    const created = await client.create(kinds.ConfigMap, { metadata: { name: 'a' } });
    expect(created.metadata?.namespace).toBe('mine');
    await inner.create(kinds.ConfigMap, configMap('other'));
    expect((await client.get(kinds.ConfigMap, { name: 'a' })).metadata?.name).toBe('a');
    expect(names(await client.list(kinds.ConfigMap))).toEqual(['a']);
    await client.update(kinds.ConfigMap, { metadata: { name: 'a' }, data: { k: 'v' } });
    await client.patch(kinds.ConfigMap, { metadata: { name: 'a' } }, rawPatch('merge', { data: { p: '1' } }));
    const applied = await client.apply(kinds.ConfigMap, { metadata: { name: 'a' } }, { fieldOwner: 'x' });
    expect(applied.data).toEqual({ k: 'v', p: '1' });
    await client.create(Widget, { metadata: { name: 'w' } });
    await client.status.patch(
      Widget,
      { metadata: { name: 'w' } },
      rawPatch('merge', { status: { size: 1 } }),
    );
    await client.deleteAllOf(kinds.ConfigMap, {});
    await client.delete(Widget, { name: 'w' });
    expect(names(await inner.list(kinds.ConfigMap))).toEqual(['other']);
  });

  test('171. refuses another namespace', async () => {
    const client = newNamespacedClient(inner, 'mine');
    const why = 'namespace default of the object a does not match the namespace mine on the client';
    await expect(client.create(kinds.ConfigMap, configMap('a'))).rejects.toThrow(why);
    await expect(client.get(kinds.ConfigMap, at('a'))).rejects.toThrow(why);
    await expect(client.list(kinds.ConfigMap, { namespace: 'default' })).rejects.toThrow('does not match');
  });

  test('172. leaves cluster-scoped kinds as they are', async () => {
    const client = newNamespacedClient(inner, 'mine');
    const created = await client.create(kinds.Namespace, { metadata: { name: 'n' } });
    expect(created.metadata?.namespace).toBeUndefined();
    expect(await client.list(kinds.Namespace)).toHaveLength(1);
  });
});
