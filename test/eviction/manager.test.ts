import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { type EvictionDeps, EvictionManager, type EvictionSettings } from '../../src/eviction/manager.ts';
import type { StatsSummary, FileSystemLayout } from '../../src/kube/stats-summary.ts';
import { parseThresholds } from '../../src/eviction/thresholds.ts';
import { nameOf } from '../../src/kube/names.ts';
import type { Pod, PodStatus } from '../../src/kube/types.ts';

const gi = 1024 ** 3;

const podOf = (name: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace: 'default', uid: name, generation: 3 },
  spec: { containers: [{ name: 'c' }], ...spec },
});

interface Killed {
  readonly pod: string;
  readonly gracePeriodSeconds: number;
  readonly status: PodStatus;
}

/** A node whose free memory and disk a test sets, in GiB of 8 and 100. */
class FakeNode {
  readonly clock = new FakeClock(Date.UTC(2026, 2, 4, 5, 6, 7));
  readonly events: (readonly [string, string, string, unknown])[] = [];
  readonly killed: Killed[] = [];
  readonly freed: string[] = [];
  pods: readonly Pod[] = [podOf('a'), podOf('b')];
  memory = 6;
  disk = 90;
  finished = true;
  passes = 0;
  onFree = (): void => undefined;

  summary(): StatsSummary {
    this.passes++;
    const time = new Date(this.clock.now()).toISOString();
    const fs = { time, availableBytes: this.disk * gi, capacityBytes: 100 * gi };
    return {
      node: {
        memory: { time, availableBytes: this.memory * gi, workingSetBytes: (8 - this.memory) * gi },
        fs,
        runtime: { imageFs: fs, containerFs: fs },
      },
      pods: this.pods.map((pod, index) => ({
        podRef: { name: nameOf(pod), namespace: 'default', uid: nameOf(pod) },
        memory: { workingSetBytes: (index + 1) * gi },
        containers: [{ name: 'c', memory: { workingSetBytes: (index + 1) * gi } }],
      })),
    };
  }

  manager(settings: Partial<EvictionSettings> = {}, deps: Partial<EvictionDeps> = {}): EvictionManager {
    const free = (what: string) => async (): Promise<void> => {
      this.freed.push(what);
      this.onFree();
    };
    return new EvictionManager(
      {
        clock: this.clock,
        logger: silentLogger,
        recorder: {
          event: (object, type, reason, message, details) =>
            this.events.push([`${nameOf(object)} ${type}`, reason, message, details?.annotations]),
        },
        nodeRef: { kind: 'Node', metadata: { name: 'node-1' } },
        summary: {
          get: async () => this.summary(),
          layout: async () => ({ dedicatedImageFs: false, splitContainerFs: false }),
        },
        pods: {
          activePods: () => this.pods,
          isFinished: () => this.finished,
          killPod: async (pod, { gracePeriodSeconds, statusFn }) => {
            this.killed.push({
              pod: nameOf(pod),
              gracePeriodSeconds,
              status: statusFn({ phase: 'Running' }),
            });
          },
        },
        reclaim: { deadContainers: free('containers'), unusedImages: free('images') },
        ...deps,
      },
      {
        thresholds: parseThresholds({
          evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
        }),
        maxPodGracePeriodSeconds: 60,
        pressureTransitionPeriodMs: 300_000,
        localStorageCapacityIsolation: true,
        ...settings,
      },
    );
  }
}

test('a node with enough resources evicts no pod and reports no pressure', async () => {
  const node = new FakeNode();
  const manager = node.manager();
  expect(await manager.synchronize()).toEqual([]);
  expect([manager.conditions(), node.events, node.killed]).toEqual([[], [], []]);
});

test('a hard memory threshold ends the fattest pod within a second, and says why', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const manager = node.manager();
  expect((await manager.synchronize()).map(nameOf)).toEqual(['b']);
  const message =
    'The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. ' +
    'Container c was using 2Gi, request is 0, has larger consumption of memory. ';
  const annotations = {
    offending_containers: 'c',
    offending_containers_usage: '2Gi',
    starved_resource: 'memory',
  };
  expect(node.events).toEqual([
    ['node-1 Warning', 'EvictionThresholdMet', 'Attempting to reclaim memory', undefined],
    ['b Warning', 'Evicted', message, annotations],
  ]);
  const condition = {
    type: 'DisruptionTarget',
    observedGeneration: 3,
    status: 'True',
    lastTransitionTime: '2026-03-04T05:06:07Z',
    reason: 'TerminationByKubelet',
    message,
  };
  expect(node.killed).toEqual([
    {
      pod: 'b',
      gracePeriodSeconds: 1,
      status: { phase: 'Failed', reason: 'Evicted', message, conditions: [condition] },
    },
  ]);
  expect(manager.pressure('memory')).toBe(true);
  expect(manager.pressure('disk')).toBe(false);
});

test('no two pods are evicted because of one measurement', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const manager = node.manager();
  await manager.synchronize();
  expect(await manager.synchronize()).toEqual([]);
  node.clock.set(node.clock.now() + 10_000);
  expect((await manager.synchronize()).length).toBe(1);
});

test('a measurement that does not say when it was made counts as a new one', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  let timed = true;
  const untimed = (summary: StatsSummary): StatsSummary => ({
    ...summary,
    node: { memory: { ...summary.node.memory, time: null } },
  });
  const get = async (): Promise<StatsSummary> => (timed ? node.summary() : untimed(node.summary()));
  const layout = async (): Promise<FileSystemLayout> => ({
    dedicatedImageFs: false,
    splitContainerFs: false,
  });
  const manager = node.manager({}, { summary: { get, layout } });
  expect(await manager.synchronize()).toHaveLength(1);
  expect(await manager.synchronize()).toHaveLength(0);
  timed = false;
  expect(await manager.synchronize()).toHaveLength(1);
});

test('a soft threshold waits for its grace period and leaves the pod its own, up to the maximum', async () => {
  const node = new FakeNode();
  node.pods = [podOf('short', { terminationGracePeriodSeconds: 7 })];
  node.memory = 1;
  const manager = node.manager({
    thresholds: parseThresholds({
      evictionSoft: { 'memory.available': '2Gi' },
      evictionSoftGracePeriod: { 'memory.available': '30s' },
    }),
  });
  expect(await manager.synchronize()).toEqual([]);
  expect(manager.conditions()).toEqual(['MemoryPressure']);
  node.clock.set(node.clock.now() + 29_000);
  expect(await manager.synchronize()).toEqual([]);
  node.clock.set(node.clock.now() + 1000);
  await manager.synchronize();
  expect(node.killed.map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([7]);
});

test('what the node can give up is freed first, and is enough when it is enough', async () => {
  const node = new FakeNode();
  node.disk = 5;
  node.onFree = () => (node.disk += 4);
  const manager = node.manager();
  expect(await manager.synchronize()).toEqual([]);
  expect(node.freed).toEqual(['containers', 'images']);
  expect(manager.conditions()).toEqual(['DiskPressure']);
});

test('what the node is short of is known before it is relieved, and given up on where nothing can be measured', async () => {
  const node = new FakeNode();
  node.disk = 5;
  const known: boolean[] = [];
  node.onFree = () => known.push(manager.hasLooked);
  const manager = node.manager();
  expect(manager.hasLooked).toBe(false);
  await manager.synchronize();
  expect(known).toEqual([true, true]);
  const blind = node.manager(
    {},
    { summary: { layout: () => Promise.reject(new Error('no runtime')) } as never },
  );
  const stop = new AbortController();
  const running = blind.run(stop.signal);
  await settle();
  expect(blind.hasLooked).toBe(true);
  stop.abort();
  await running;
});

test('a reclaim that fails does not keep the pods', async () => {
  const node = new FakeNode();
  node.disk = 5;
  const fail = (): Promise<void> => Promise.reject(new Error('no runtime'));
  const manager = node.manager({}, { reclaim: { deadContainers: fail, unusedImages: fail } });
  expect((await manager.synchronize()).length).toBe(1);
});

test('a pressure is reported for the transition period after it was last seen', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const manager = node.manager();
  await manager.synchronize();
  node.memory = 6;
  node.clock.set(node.clock.now() + 299_000);
  await manager.synchronize();
  expect(manager.conditions()).toEqual(['MemoryPressure']);
  node.clock.set(node.clock.now() + 1000);
  await manager.synchronize();
  expect(manager.conditions()).toEqual([]);
});

test('critical pods are skipped, and stay when there are no others', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const critical = podOf('critical', { priority: 2_000_000_000 });
  node.pods = [podOf('plain'), critical];
  expect((await node.manager().synchronize()).map(nameOf)).toEqual(['plain']);
  node.pods = [critical];
  expect(await node.manager().synchronize()).toEqual([]);
});

test('every pod above its own limits goes in one pass, and no other', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const volumes = [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }];
  node.pods = [podOf('a', { volumes }), podOf('b'), podOf('c', { volumes })];
  const base = node.summary();
  const pods = base.pods?.map((pod) => ({ ...pod, volume: [{ name: 'v', usedBytes: gi }] })) ?? [];
  const layout = async (): Promise<{ dedicatedImageFs: boolean; splitContainerFs: boolean }> => ({
    dedicatedImageFs: false,
    splitContainerFs: false,
  });
  const manager = node.manager({}, { summary: { get: async () => ({ ...base, pods }), layout } });
  expect((await manager.synchronize()).map(nameOf)).toEqual(['a', 'c']);
  expect(node.killed[0]?.status).toEqual({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
  });
});

test('each evicted pod is reported with its signal', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const signals: string[] = [];
  const evicted = (signal: string): void => void signals.push(signal);
  const ages: [string, number][] = [];
  const statsAge = (signal: string, ms: number): void => void ages.push([signal, ms]);
  await node.manager({}, { evicted, statsAge }).synchronize();
  expect(signals).toEqual(['memory.available']);
  expect(ages).toEqual([['memory.available', 0]]);
  node.memory = 6;
  await node.manager({}, { evicted }).synchronize();
  const base = node.summary();
  const pods = base.pods?.map((pod) => ({ ...pod, volume: [{ name: 'v', usedBytes: gi }] })) ?? [];
  node.pods = [podOf('a', { volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }] })];
  const layout = async (): Promise<FileSystemLayout> => ({
    dedicatedImageFs: false,
    splitContainerFs: false,
  });
  await node
    .manager({}, { evicted, summary: { get: async () => ({ ...base, pods }), layout } })
    .synchronize();
  expect(signals).toEqual(['memory.available', 'emptydirfs.limit']);
});

test('a pod that does not end in time counts as evicted', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  const pods = {
    activePods: () => node.pods,
    isFinished: () => false,
    killPod: () => Promise.reject(new Error('timeout waiting to kill pod')),
  };
  expect((await node.manager({}, { pods }).synchronize()).length).toBe(1);
});

test('without statistics no pod is evicted, and the pressures are unchanged', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  let broken = false;
  const summary = {
    get: () => (broken ? Promise.reject(new Error('no cgroups')) : Promise.resolve(node.summary())),
    layout: async () => ({ dedicatedImageFs: false, splitContainerFs: false }),
  };
  const manager = node.manager({}, { summary });
  await manager.synchronize();
  broken = true;
  node.clock.set(node.clock.now() + 600_000);
  expect(await manager.synchronize()).toEqual([]);
  expect(manager.conditions()).toEqual(['MemoryPressure']);
});

test('a layout that cannot be learnt fails the pass; the next one asks again', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  let asked = 0;
  const layout = async (): Promise<{ dedicatedImageFs: boolean; splitContainerFs: boolean }> => {
    if (asked++ === 0) throw new Error('no runtime');
    return { dedicatedImageFs: false, splitContainerFs: false };
  };
  const manager = node.manager({}, { summary: { get: async () => node.summary(), layout } });
  await expect(manager.synchronize()).rejects.toThrow(
    'eviction manager: failed to get HasDedicatedImageFs: no runtime',
  );
  expect((await manager.synchronize()).length).toBe(1);
});

test('with nothing to watch for nothing is measured', async () => {
  const node = new FakeNode();
  await node.manager({ thresholds: [], localStorageCapacityIsolation: false }).synchronize();
  expect(node.passes).toBe(0);
});

test('passes come every 10 s; after an eviction, as soon as the pod is finished', async () => {
  const node = new FakeNode();
  const stop = new AbortController();
  const running = node.manager().run(stop.signal);
  await node.clock.advance(0);
  expect(node.passes).toBe(1);
  await node.clock.advance(10_000);
  expect(node.passes).toBe(2);
  node.memory = 0.5;
  node.finished = false;
  await node.clock.advance(10_000);
  expect([node.passes, node.killed.length]).toEqual([3, 1]);
  await node.clock.advance(5000);
  node.memory = 6;
  node.finished = true;
  await node.clock.advance(1000);
  expect(node.passes).toBe(4);
  stop.abort();
  await running;
  expect(node.clock.pending).toBe(0);
});

test('a pod that is not cleaned up holds eviction back for 30 s at most', async () => {
  const node = new FakeNode();
  node.memory = 0.5;
  node.finished = false;
  const stop = new AbortController();
  const running = node.manager().run(stop.signal);
  await node.clock.advance(29_000);
  expect(node.killed.length).toBe(1);
  await node.clock.advance(1000);
  expect(node.killed.length).toBe(2);
  stop.abort();
  await running;
});
