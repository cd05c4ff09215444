import type { V1Pod } from '@kubernetes/client-node';
import { expect, expectTypeOf, test } from 'vitest';
import { fakeClient } from '../../src/controller/fake/index.ts';
import {
  type CacheOptions,
  type Client,
  defineKind,
  ignoreNotFound,
  type Kind,
  kinds,
  type KubeObject,
  mergeFrom,
  type ObjectOf,
  type Patch,
  type Reader,
  type SubResourceClient,
  type WatchEvent,
  type Wire,
} from '../../src/controller/index.ts';

interface Memcached extends KubeObject {
  spec: { size: number };
  status?: { nodes: string[] };
}
const Memcached = defineKind<Memcached>({ group: 'cache.example.com', version: 'v1', kind: 'Memcached' });

test('177. objects have the types of their kinds', async () => {
  const client: Client = fakeClient();
  expectTypeOf(kinds.Pod).toExtend<Kind>();
  expectTypeOf<ObjectOf<typeof kinds.Pod>>().toEqualTypeOf<Wire<V1Pod>>();
  await client.create(Memcached, { metadata: { namespace: 'a', name: 'm' }, spec: { size: 1 } });
  const found = await client.get(Memcached, { namespace: 'a', name: 'm' });
  expectTypeOf(found).toEqualTypeOf<Memcached>();
  expectTypeOf(await client.list(Memcached)).toExtend<readonly Memcached[]>();
  // @ts-expect-error a size is a number
  await client.create(Memcached, { metadata: { namespace: 'a', name: 'n' }, spec: { size: '1' } });
  expect(found.spec.size).toBe(1);
});

test('178. members of objects may be assigned, times are text', async () => {
  const client = fakeClient();
  const pod = await client.create(kinds.Pod, { metadata: { namespace: 'a', name: 'p' } });
  const patch: Patch = mergeFrom(pod);
  pod.metadata = { ...pod.metadata, labels: { a: 'b' } };
  pod.metadata.finalizers = ['a/b'];
  const patched = await client.patch(kinds.Pod, pod, patch);
  expectTypeOf(patched.metadata?.creationTimestamp).toEqualTypeOf<string | undefined>();
  expect(patched.metadata?.labels).toEqual({ a: 'b' });
});

test('179. options of a cache take kinds of any type, with transforms typed by theirs', () => {
  const options: CacheOptions = {
    byKind: [
      { kind: kinds.Pod, labelSelector: 'a=b', frozen: true },
      {
        kind: Memcached,
        namespaces: ['a'],
        transform: (object: Memcached) => ({ ...object, spec: { size: 0 } }),
      },
    ],
    defaultNamespaces: ['a'],
    syncPeriod: 1000,
  };
  expect(options.byKind).toHaveLength(2);
});

test('180. a client is a reader with subresources and watches', async () => {
  const client = fakeClient();
  const reader: Reader = client;
  expectTypeOf(client.status).toExtend<SubResourceClient>();
  expectTypeOf(client.watch(Memcached)).toExtend<AsyncIterable<WatchEvent<Memcached>>>();
  const none = await reader.get(Memcached, { namespace: 'a', name: 'x' }).catch(ignoreNotFound);
  expectTypeOf(none).toEqualTypeOf<Memcached | undefined>();
  expect(none).toBeUndefined();
});
