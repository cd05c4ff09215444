import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { Informer, type InformerOptions } from '../../../src/api/cache/informer.ts';
import { podResource } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { KubeStub, until } from '../../support/kube-stub.ts';

let stub: KubeStub;
let client: HttpApiClient;
let stop: AbortController;
const log: string[] = [];
const name = (pod: Pod): string => `${pod.metadata?.name ?? ''}/${pod.metadata?.uid ?? ''}`;
const quick = { backOff: { baseMs: 5, maxMs: 20, resetAfterMs: 1000 } };

beforeEach(async () => {
  log.length = 0;
  stub = new KubeStub();
  stop = new AbortController();
  client = createApiClient({ server: await stub.listen() }, { clock: systemClock, qps: 0 });
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await stub.close();
});

function start(options: InformerOptions<Pod> = {}): Informer<Pod> {
  const informer = new Informer<Pod>({ client, clock: systemClock }, podResource, { ...quick, ...options });
  informer.addHandler({
    added: (pod) => void log.push(`+${name(pod)}`),
    updated: (_old, pod) => void log.push(`~${name(pod)}`),
    deleted: (pod, stale) => void log.push(`-${name(pod)}${stale ? '?' : ''}`),
  });
  void informer.run(stop.signal);
  return informer;
}

const equal = (informer: Informer<Pod>): boolean =>
  informer.store.size === stub.objects.size &&
  informer.store
    .list()
    .every(
      (pod) =>
        stub.objects.get(pod.metadata?.name ?? '')?.metadata?.resourceVersion ===
        pod.metadata?.resourceVersion,
    );

describe.each([true, false])('with streamed lists: %s', (streaming) => {
  test('the cache holds what was there and follows what changes', async () => {
    stub.streamingLists = streaming;
    stub.put('a', '1');
    stub.put('b', '2');
    const informer = start();
    await informer.waitSynced();
    await until(() => stub.watchers === 1);
    stub.put('a', '1');
    stub.remove('b');
    stub.put('c', '3');
    await until(() => log.length === 5);
    expect(log).toEqual(['+a/1', '+b/2', '~a/1', '-b/2', '+c/3']);
    expect(equal(informer)).toBe(true);
    expect(informer.store.get('default/a')?.kind).toBe('Pod');
  });
});

test('a list comes page by page', async () => {
  for (let i = 0; i < 25; i++) stub.put(`p${i}`, `${i}`);
  const informer = start({ streamingList: false, pageSize: 10 });
  await informer.waitSynced();
  expect(informer.store.size).toBe(25);
  expect(stub.requests.filter(({ url }) => !url.searchParams.has('watch'))).toHaveLength(3);
});

test('a cut watch goes on where it ended, without a list and without an event twice', async () => {
  stub.put('a', '1');
  const informer = start();
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.cutWatches();
  stub.put('a', '1');
  stub.put('b', '2');
  await until(() => log.length === 3);
  expect(log).toEqual(['+a/1', '~a/1', '+b/2']);
  expect(informer.stats.lists).toBe(1);
});

test('the last failure is gone once a cut watch is open again, also when nothing happens', async () => {
  stub.put('a', '1');
  const informer = start();
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.cutWatches();
  await until(() => informer.lastFailure !== undefined);
  await until(() => informer.lastFailure === undefined);
  expect(informer.stats.lists).toBe(1);
  expect(informer.stats.events).toBe(0);
});

test('another UID under a name is a deletion and an addition, also across a gap', async () => {
  stub.put('a', '1');
  const informer = start();
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.cutWatches();
  stub.put('a', '2');
  stub.compact();
  await until(() => log.length === 3);
  expect(log).toEqual(['+a/1', '-a/1?', '+a/2']);
  expect(informer.stats.lists).toBe(2);
});

test('a compacted history is listed again, and objects deleted meanwhile are reported as stale', async () => {
  stub.put('a', '1');
  stub.put('b', '2');
  const informer = start({ streamingList: false });
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.cutWatches();
  stub.remove('a');
  stub.compact();
  await until(() => equal(informer));
  expect(log).toEqual(['+a/1', '+b/2', '-a/1?']);
});

test('a silent connection is taken for dead and replaced without a list', async () => {
  stub.put('a', '1');
  const informer = start({ idleTimeoutMs: 60 });
  await informer.waitSynced();
  await until(() => informer.stats.watches >= 4);
  expect(informer.stats.lists).toBe(1);
  stub.put('a', '1');
  await until(() => log.length === 2);
});

test('a server that goes back in time is listed again', async () => {
  for (let i = 0; i < 5; i++) stub.put('a', '1');
  const informer = start();
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.goBackTo(2);
  stub.put('b', '2');
  stub.bookmark();
  await until(() => informer.store.size === 2);
  expect(informer.stats.lists).toBe(2);
});

test('a torn event is read again in full', async () => {
  stub.put('a', '1');
  let torn = 0;
  stub.intercept = ({ url }, response) => {
    if (url.searchParams.get('resourceVersion') === null || torn++ > 0) return false;
    response.writeHead(200);
    response.end('{"type":"MODIFIED","object":{"metadata":{"na');
    return true;
  };
  const informer = start();
  await informer.waitSynced();
  stub.put('a', '1');
  await until(() => equal(informer) && torn > 1);
  expect(informer.stats.lists).toBe(1);
});

test('a slow handler receives the newest state once, and delays no other', async () => {
  const informer = start();
  let open = (): void => undefined;
  const seen: string[] = [];
  informer.addHandler({
    added: async (pod) => {
      seen.push(`+${name(pod)}`);
      await new Promise<void>((resolve) => (open = resolve));
    },
    updated: (old, pod) => {
      seen.push(`~${old.metadata?.resourceVersion ?? ''}>${pod.metadata?.resourceVersion ?? ''}`);
    },
  });
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  const first = stub.put('a', '1').metadata?.resourceVersion ?? '';
  for (let i = 0; i < 9; i++) stub.put('a', '1');
  const last = stub.objects.get('a')?.metadata?.resourceVersion ?? '';
  stub.put('b', '2');
  await until(() => log.length === 11);
  expect(seen).toEqual(['+a/1']);
  open();
  await until(() => seen.length === 3);
  expect(seen).toEqual(['+a/1', `~${first}>${last}`, '+b/2']);
});

test('a handler that comes later hears of all that is cached before it is synced', async () => {
  stub.put('a', '1');
  const informer = start();
  await informer.waitSynced();
  const seen: string[] = [];
  const registration = informer.addHandler({
    added: (pod, initial) => void seen.push(`${name(pod)} ${initial}`),
  });
  await registration.waitSynced();
  expect(seen).toEqual(['a/1 true']);
});

test('indexes follow every change', async () => {
  const informer = start({ indexers: { node: (pod) => [pod.spec?.nodeName ?? ''] } });
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.put('a', '1', { spec: { nodeName: 'n1' } });
  stub.put('b', '2', { spec: { nodeName: 'n1' } });
  stub.put('a', '1', { spec: { nodeName: 'n2' } });
  stub.remove('b');
  await until(() => log.length === 4);
  expect(informer.store.byIndex('node', 'n1')).toEqual([]);
  expect(informer.store.byIndex('node', 'n2').map(name)).toEqual(['a/1']);
});

test('managed fields are dropped and frozen objects cannot be written to', async () => {
  stub.intercept = ({ url }, response) =>
    url.searchParams.has('watch')
      ? false
      : stub.json(response, 200, {
          kind: 'PodList',
          metadata: { resourceVersion: '1' },
          items: [{ metadata: { name: 'a', uid: '1', resourceVersion: '1', managedFields: [{}] } }],
        });
  const informer = start({ streamingList: false, freeze: true });
  await informer.waitSynced();
  const pod = informer.store.get('a');
  expect(pod?.metadata).not.toHaveProperty('managedFields');
  expect(() => {
    (pod as { kind: string }).kind = 'x';
  }).toThrow(TypeError);
});

test('snapshots come whole, first when synced, one for each burst', async () => {
  stub.put('a', '1');
  const informer = start();
  const sizes: number[] = [];
  const subscription = informer.snapshots().subscribe((pods) => sizes.push(pods.length));
  await until(() => sizes.length === 1);
  await until(() => stub.watchers === 1);
  for (let i = 0; i < 50; i++) stub.put(`p${i}`, `${i}`);
  await until(() => sizes.at(-1) === 51);
  expect(sizes[0]).toBe(1);
  expect(sizes.length).toBeLessThan(20);
  subscription.unsubscribe();
});

test('answers to other calls and the events of a watch are parsed once', async () => {
  const informer = new Informer<Pod>({ client, clock: systemClock }, podResource);
  void informer.run(stop.signal);
  await informer.waitSynced();
  await until(() => stub.watchers === 1);
  stub.put('a', 'u', { spec: { containers: [] } });
  await until(() => informer.store.size === 1);
  stub.intercept = ({ method }, response) => {
    const object =
      method === 'PATCH' ? stub.put('a', 'u', { status: { phase: 'Running' } }) : stub.objects.get('a');
    response.end(JSON.stringify(object));
    return method === 'PATCH' || method === 'GET';
  };
  const ref = { namespace: 'default', name: 'a' };
  const { knownObjects: known } = informer;
  const cached = informer.store.get('default/a');
  expect(await client.get(podResource, ref, { knownObjects: known })).toBe(cached);
  expect(await client.get(podResource, ref)).not.toBe(cached);

  const patched = await client.patch<Pod>(
    podResource,
    ref,
    { type: 'merge', body: {} },
    { knownObjects: known },
  );
  expect(patched.status?.phase).toBe('Running');
  await until(() => informer.store.get('default/a') !== cached);
  expect(informer.store.get('default/a')).toBe(patched); // whichever of the two came first
});
