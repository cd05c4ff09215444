import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { GenericPleg } from '../../src/pleg/generic-pleg.ts';
import { emptyStatus, PodCache } from '../../src/pleg/pod-cache.ts';
import type { RuntimeContainerState, RuntimePod } from '../../src/provider/runtime-pod.ts';

const podOf = (uid: string, state: RuntimeContainerState): RuntimePod => ({
  uid,
  name: uid,
  namespace: 'ns',
  containers: [{ id: `c-${uid}`, name: 'c', state }],
  sandboxes: [],
});

function setUp(options = {}) {
  const clock = new FakeClock(1000);
  const cache = new PodCache();
  const world = { pods: [] as RuntimePod[], listings: 0, inspections: [] as string[] };
  const provider = {
    listPods: async () => {
      world.listings++;
      return world.pods;
    },
    getPodStatus: async ({ uid }: { uid: string }) => {
      world.inspections.push(uid);
      return emptyStatus(uid);
    },
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger }, options);
  return { clock, cache, world, pleg };
}

test('relists every second until it is stopped, and leaves no timer', async () => {
  const { clock, world, pleg } = setUp();
  const aborter = new AbortController();
  const run = pleg.run(aborter.signal);
  await clock.advance(3500);
  expect(world.listings).toBe(4);
  expect(pleg.health()).toBeUndefined();
  aborter.abort();
  await run;
  expect(clock.pending).toBe(0);
});

test('a request is served before the period is over (R234)', async () => {
  const { clock, world, pleg } = setUp();
  const aborter = new AbortController();
  const run = pleg.run(aborter.signal);
  await clock.advance(300);
  world.pods = [podOf('a', 'running'), podOf('b', 'running')];
  expect(pleg.requestRelist('a')).toBe(true);
  await clock.advance(100);
  expect(pleg.channel.drain()).toEqual([{ uid: 'a', type: 'ContainerStarted', containerId: 'c-a' }]);
  await clock.advance(600);
  expect(world.listings).toBe(3);
  expect(pleg.channel.drain()).toEqual([{ uid: 'b', type: 'ContainerStarted', containerId: 'c-b' }]);
  aborter.abort();
  await run;
});

test('a provider that can is asked for the pod alone, and for the status of what that showed', async () => {
  const { cache, clock } = setUp();
  const asked: unknown[] = [];
  const shown = podOf('a', 'running');
  const provider = {
    listPods: () => Promise.reject(new Error('all were listed')),
    listSome: async (uids: readonly string[]) => {
      asked.push(uids);
      clock.set(2000); // the listing takes a second; what begins meanwhile may be missing
      return [podOf('other', 'running'), shown];
    },
    getPodStatus: () => Promise.reject(new Error('it was listed again')),
    getListedPodStatus: async (listed: RuntimePod) => {
      asked.push(listed);
      return emptyStatus(listed.uid);
    },
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger });
  await pleg.relistPod('a');
  expect(asked).toEqual([['a'], shown]);
  expect(pleg.tracked).toEqual(['a']);
  expect(pleg.channel.drain()).toEqual([{ uid: 'a', type: 'ContainerStarted', containerId: 'c-a' }]);
  let fresh = false;
  void cache.getNewerThan('a', 1500).then(() => (fresh = true));
  await settle();
  expect(fresh).toBe(false);
  await cache.getNewerThan('a', 999);
});

test('too many requests are refused, the same pod twice is one (R234)', () => {
  const { pleg } = setUp({ onDemandCapacity: 1 });
  expect([pleg.requestRelist('a'), pleg.requestRelist('a'), pleg.requestRelist('b')]).toEqual([
    true,
    true,
    false,
  ]);
});

test('nothing changed: nothing is inspected', async () => {
  const { world, pleg } = setUp();
  world.pods = [podOf('a', 'running')];
  await pleg.relist();
  world.pods = [podOf('a', 'running')];
  await pleg.relist();
  expect(world.inspections).toEqual(['a']);
});

test('events reach a subscriber outside the relist', async () => {
  const { world, pleg } = setUp();
  const seen: string[] = [];
  world.pods = [podOf('a', 'running')];
  await pleg.relist();
  const subscription = pleg.events.subscribe(({ type }) => seen.push(type));
  world.pods = [podOf('a', 'exited')];
  await pleg.relist();
  await settle();
  expect(seen).toEqual(['ContainerStarted', 'ContainerDied']);
  subscription.unsubscribe();
  world.pods = [];
  await pleg.relist();
  await settle();
  expect(seen).toHaveLength(2);
});

test('what does not fit is counted (R231)', async () => {
  const { world, pleg } = setUp({ eventChannelCapacity: 1 });
  world.pods = [podOf('a', 'running'), podOf('b', 'running')];
  await pleg.relist();
  expect(pleg.channel.dropped).toBe(1);
});

test('a hanging runtime is not healthy, in the words of the kubelet (R235)', async () => {
  const { clock, pleg } = setUp();
  expect(pleg.health()).toBe('pleg has yet to be successful');
  await pleg.relist();
  clock.set(1000 + 200_500);
  expect(pleg.health()).toBe('pleg was last seen active 3m20.5s ago; threshold is 3m0s');
  clock.set(1000 + 3_723_000);
  expect(pleg.health()).toBe('pleg was last seen active 1h2m3s ago; threshold is 3m0s');
});

test('a failing listing changes nothing and does not count for health', async () => {
  const { cache, clock } = setUp();
  const provider = {
    listPods: () => Promise.reject(new Error('list broke')),
    getPodStatus: async () => emptyStatus('a'),
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger });
  await pleg.relist();
  await pleg.relistPod('a');
  expect(pleg.tracked).toEqual([]);
  expect(pleg.health()).toBe('pleg has yet to be successful');
});

test('a failing inspection withholds the events until it succeeds (R230)', async () => {
  const { cache, clock } = setUp();
  let broken = true;
  const provider = {
    listPods: async () => [podOf('a', 'running')],
    getPodStatus: async () => {
      if (broken) throw new Error('inspect broke');
      return emptyStatus('a');
    },
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger });
  await pleg.relist();
  expect(pleg.channel.drain()).toEqual([]);
  expect(() => cache.get('a')).toThrow('inspect broke');
  broken = false;
  await pleg.relist();
  expect(pleg.channel.drain().map(({ type }) => type)).toEqual(['ContainerStarted']);
  expect(cache.get('a')).toEqual(emptyStatus('a'));
});

test('a pod that lost its sandbox keeps its addresses (R228)', async () => {
  const { cache, clock } = setUp();
  let ips = ['10.0.0.1'];
  let state: RuntimeContainerState = 'running';
  const provider = {
    listPods: async () => [podOf('a', state)],
    getPodStatus: async () => ({ ...emptyStatus('a'), ips }),
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger });
  await pleg.relist();
  ips = [];
  state = 'exited';
  await pleg.relist();
  expect(cache.get('a').ips).toEqual(['10.0.0.1']);
});

test('an asked-for inspection without a change tells PodSync (R233), also on request', async () => {
  const { world, pleg } = setUp();
  world.pods = [podOf('a', 'running')];
  await pleg.relist();
  pleg.channel.drain();
  pleg.requestReinspect('a');
  await pleg.relistPod('a');
  expect(pleg.channel.drain()).toEqual([{ uid: 'a', type: 'PodSync' }]);
  await pleg.relist();
  expect(pleg.channel.drain()).toEqual([]);
});

test('of listings that say the same of a pod the first one is kept, and of others the last', async () => {
  const { world, pleg } = setUp();
  const [first, last] = [podOf('a', 'running'), podOf('a', 'exited')];
  for (const pod of [first, podOf('a', 'running'), podOf('a', 'running')]) {
    world.pods = [pod];
    await pleg.relist();
    expect(pleg.listed[0]).toBe(first);
  }
  world.pods = [last];
  await pleg.relist();
  expect(pleg.listed[0]).toBe(last);
  world.pods = [];
  await pleg.relist();
  expect(pleg.listed).toEqual([]);
});

test('a pod that was gone when it was looked at is forgotten once nobody wants it', async () => {
  const { cache, world, pleg } = setUp();
  const here = podOf('here', 'exited');
  world.pods = [podOf('gone', 'exited'), podOf('wanted', 'exited'), here];
  await pleg.relist();
  world.pods = [here];
  for (const uid of ['gone', 'wanted']) await pleg.relistPod(uid);
  await pleg.relist();
  const cached = (): boolean[] => ['gone', 'wanted', 'here'].map((uid) => cache.peek(uid) !== undefined);
  expect(cached()).toEqual([true, true, true]);
  pleg.removeOrphans((uid) => uid === 'wanted');
  expect(cached()).toEqual([false, true, true]);
  pleg.channel.drain();
  world.pods = [];
  await pleg.relist();
  pleg.removeOrphans(() => false);
  expect(cached()).toEqual([false, false, false]);
  expect(pleg.channel.drain()).toEqual([{ uid: 'here', type: 'ContainerRemoved', containerId: 'c-here' }]);
});

test('a pod whose inspection takes long holds up no other, where several are inspected at one time', async () => {
  const { cache, clock } = setUp();
  const slow = Promise.withResolvers<undefined>();
  const provider = {
    listPods: async () => [podOf('a', 'running'), podOf('b', 'running'), podOf('c', 'running')],
    getPodStatus: async ({ uid }: { readonly uid: string }) => {
      if (uid === 'a') await slow.promise;
      return emptyStatus(uid);
    },
  };
  const pleg = new GenericPleg({ clock, cache, provider, logger: silentLogger }, { parallel: 2 });
  const relist = pleg.relist();
  await settle();
  expect(pleg.channel.drain().map(({ uid }) => uid)).toEqual(['b', 'c']);
  slow.resolve(undefined);
  await relist;
  expect(pleg.channel.drain().map(({ uid }) => uid)).toEqual(['a']);
});

test('a pushed pod is cached and told at once, and no listing that had begun takes it back', async () => {
  const { clock, cache, world, pleg } = setUp();
  let list: (pods: RuntimePod[]) => void = () => undefined;
  world.pods = [podOf('a', 'running')];
  await pleg.relist();
  pleg.channel.drain();
  await clock.advance(1000);
  const slow = new GenericPleg({
    clock,
    cache,
    logger: silentLogger,
    provider: {
      listPods: () => new Promise((resolve) => (list = resolve)),
      getPodStatus: () => Promise.reject(new Error('not asked for')),
    },
  });
  const relisted = slow.relist();
  await settle();
  await clock.advance(5);
  const status = { ...emptyStatus('a'), ips: ['192.0.2.9'] };
  slow.push({ pod: podOf('a', 'exited'), status });
  expect(cache.peek('a')).toEqual(status);
  expect(slow.channel.drain()).toEqual([{ uid: 'a', type: 'ContainerDied', containerId: 'c-a' }]);
  list([podOf('a', 'running')]);
  await relisted;
  expect(slow.channel.drain()).toEqual([]);
  expect(cache.peek('a')).toEqual(status);
  slow.push({ pod: podOf('a', 'exited'), status: { ...status, ips: [] } });
  expect(slow.channel.drain()).toEqual([{ uid: 'a', type: 'PodSync' }]);
});

test('a pushed pod that lost an old container is synced: what its provider reports may have changed', () => {
  const { pleg } = setUp();
  const pod = podOf('a', 'running');
  const old = { id: 'c-old', name: 'c', state: 'exited' } as const;
  pleg.push({ pod: { ...pod, containers: [...pod.containers, old] }, status: emptyStatus('a') });
  pleg.channel.drain();
  pleg.push({ pod, status: emptyStatus('a') });
  expect(pleg.channel.drain()).toEqual([
    { uid: 'a', type: 'ContainerRemoved', containerId: 'c-old' },
    { uid: 'a', type: 'PodSync' },
  ]);
});
