import { Subject } from 'rxjs';
import { afterEach, expect, test } from 'vitest';
import {
  configuredWindows,
  evictionOptions,
  evictionSettings,
  hardThresholds,
  shutdownOptions,
  withDefaultThresholds,
} from '../../src/agent/evictions.ts';
import { NodeProtection } from '../../src/agent/node-protection.ts';
import { allPodsLimits } from '../../src/agent/node-setters.ts';
import { PodsController } from '../../src/pods/pods-controller.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { PodUpdate } from '../../src/config/pod-update.ts';
import { configSourceAnnotation } from '../../src/kube/names.ts';
import type { Node, Pod, PodStatus } from '../../src/kube/types.ts';
import type { NodeUsage } from '../../src/containers/stats/usage.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

const node: Node = {
  metadata: { name: 'n', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '8', memory: '8Gi', pods: '110' } },
};

const configuration = {
  enforceNodeAllocatable: [],
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
  evictionPressureTransitionPeriod: '5m0s',
  localStorageCapacityIsolation: true,
};

const podOf = (name: string, annotations: Readonly<Record<string, string>> = {}): Pod => ({
  metadata: {
    name,
    namespace: 'default',
    uid: name,
    annotations: { [configSourceAnnotation]: 'api', ...annotations },
  },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 5,
  },
});

const gi = 1024 ** 3;

/** A node agent's pods over the memory provider, on a machine whose memory and disk a test sets. */
class Rig {
  readonly clock = new FakeClock(Date.UTC(2026, 0, 1));
  readonly events: string[] = [];
  readonly stop = new AbortController();
  /** Bytes of 8 Gi. */
  freeMemory = 4 * gi;
  /** Bytes of 100 Gi. */
  freeDisk = 50 * gi;
  /** Bytes by the end of the path. */
  readonly disk = new Map<string, number>();
  readonly reclaimed: string[] = [];
  /** Of which pods all dead containers were to be removed, and whether the pod could still run. */
  readonly removed: string[] = [];
  onReclaim: () => void = () => undefined;
  tellShutdown: (starting: boolean) => void = () => undefined;
  readonly #updates = new Subject<PodUpdate>();
  readonly #recorder = {
    event: (object: Pod, _type: string, reason: string, message: string): void =>
      void this.events.push(`${object.metadata?.name ?? ''} ${reason} ${message}`),
  };
  readonly options = {
    nodeName: 'n',
    rootDir: '/root-dir',
    eviction: {
      ...evictionOptions({ ...configuration, volumeStatsAggPeriod: '1m0s' }, '/pod-logs'),
      machine: async () => this.#machine(),
      statFs: async () => undefined,
      measure: async (path: string) => {
        const bytes = this.disk.get([...this.disk.keys()].find((end) => path.endsWith(end)) ?? '');
        return bytes === undefined ? undefined : { bytes, inodes: 1 };
      },
    },
    shutdown: {
      windows: configuredWindows({ shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' }),
      source: {
        onShutdown: (listener: (starting: boolean) => void) => {
          this.tellShutdown = listener;
          return () => undefined;
        },
      },
    },
  };
  readonly controller = new PodsController({
    clock: this.clock,
    nodeName: 'n',
    nodeIP: '192.0.2.1',
    configUpdates: this.#updates,
    sourcesReady: { addSource: () => undefined, allReady: () => true },
    nodeGetter: () => node,
    eventRecorder: this.#recorder,
  });
  protection!: NodeProtection;
  #running: Promise<unknown> = Promise.resolve();

  async start(...pods: readonly Pod[]): Promise<void> {
    const removeDeadContainers = (uid: string, all: boolean): void => {
      const could = this.controller.engines.podWorkers.couldHaveRunningContainers(uid);
      if (all) this.removed.push(`${uid} ${could ? 'too early' : 'ended'}`);
    };
    const provider = Object.assign(new MemoryProvider({ clock: this.clock }), { removeDeadContainers });
    const reclaim = { deadContainers: this.#reclaim('containers'), unusedImages: this.#reclaim('images') };
    const upkeep = { reclaim };
    const common = { clock: this.clock, logger: silentLogger, recorder: this.#recorder };
    this.protection = new NodeProtection(this.options, common, {
      controller: this.controller,
      provider,
      upkeep,
    });
    this.controller.registerProvider(provider, this.protection.pods);
    const { signal } = this.stop;
    this.#running = Promise.all([this.controller.run(signal), this.protection.run(signal)]);
    await this.add(...pods);
  }

  async add(...pods: readonly Pod[]): Promise<void> {
    this.#updates.next({ op: 'ADD', source: 'api', pods });
    await this.clock.advance(5000);
  }

  change(op: PodUpdate['op'], ...pods: readonly Pod[]): void {
    this.#updates.next({ op, source: 'api', pods });
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.#running;
  }

  statusOf(uid: string): PodStatus | undefined {
    return this.controller.getStatusManager().getPodStatus(uid);
  }

  #reclaim(what: string): () => Promise<void> {
    return async () => {
      this.reclaimed.push(what);
      this.onReclaim();
    };
  }

  #machine(): NodeUsage {
    const { freeMemory, freeDisk } = this;
    return {
      at: this.clock.now(),
      bootedAt: 0,
      cpuNanos: 0,
      memoryTotalBytes: 8 * gi,
      memoryAvailableBytes: freeMemory,
      memoryUsedBytes: 8 * gi - freeMemory,
      workingSetBytes: 8 * gi - freeMemory,
      rssBytes: 0,
      swapUsedBytes: 0,
      swapFreeBytes: 0,
      interfaces: [],
      fs: {
        capacityBytes: 100 * gi,
        availableBytes: freeDisk,
        usedBytes: 100 * gi - freeDisk,
        inodes: 1000,
        inodesFree: 900,
      },
    };
  }
}

let rig = new Rig();
afterEach(async () => {
  await rig.end();
  rig = new Rig();
});

test('a pod that memory pressure costs fails as Evicted, and best-effort pods are refused after it', async () => {
  await rig.start(podOf('web', { 'podtender.io/memory.stop-exit-code': '137' }));
  expect(rig.statusOf('web')?.phase).toBe('Running');
  rig.freeMemory = gi / 2;
  await rig.clock.advance(20_000);
  expect(rig.statusOf('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(rig.events).toContainEqual(
    expect.stringMatching(/^web Evicted The node was low on resource: memory/),
  );
  expect(rig.protection.pressure('memory')).toBe(true);
  expect(rig.protection.pressure('disk')).toBe(false);
  await rig.add(podOf('late'));
  expect(rig.statusOf('late')).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
  });
});

test('the containers of an evicted pod stay until its last status is made of them', async () => {
  // one is dead and seen so while the other still ends
  const pod = podOf('web', {
    'podtender.io/memory.stop-exit-code': '137',
    'podtender.io/memory.slow.stop-delay-ms': '900',
  });
  const containers = ['c', 'slow'].map((name) => ({ name, image: 'i' }));
  await rig.start({ ...pod, spec: { ...pod.spec, containers } });
  rig.freeMemory = gi / 2;
  await rig.clock.advance(20_000);
  const web = rig.controller.engines.podManager.getPodByUID('web');
  rig.change('RECONCILE', { ...web, status: { phase: 'Failed', reason: 'Evicted' } });
  await rig.clock.advance(5000);
  expect(rig.removed).not.toEqual([]);
  expect(new Set(rig.removed)).toEqual(new Set(['web ended']));
});

test('an evicted pod whose containers end well has succeeded, and only its condition tells of the eviction', async () => {
  await rig.start(podOf('web'));
  rig.freeMemory = gi / 2;
  await rig.clock.advance(20_000);
  const status = rig.statusOf('web');
  expect([status?.phase, status?.reason]).toEqual(['Succeeded', undefined]);
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
  );
});

const evictedPods = (): readonly (string | undefined)[] =>
  rig.events.filter((text) => text.includes(' Evicted ')).map((text) => text.split(' ')[0]);

const using = (memory: number, disk = 0): Readonly<Record<string, string>> => ({
  'podtender.io/memory.memory-bytes': String(memory),
  'podtender.io/memory.disk-bytes': String(disk),
  'podtender.io/memory.stop-exit-code': '137',
});

test('what the node is short of is known once it was asked for, whatever the answer', async () => {
  const measured = Promise.withResolvers<NodeUsage>();
  rig.options.eviction.machine = () => measured.promise;
  await rig.start();
  expect(rig.protection.knowsPressure).toBe(false);
  measured.reject(new Error('no /proc'));
  await settle();
  expect(rig.protection.knowsPressure).toBe(true);
  const { clock, controller } = rig;
  const common = { clock, logger: silentLogger, recorder: { event: () => undefined } };
  const without = new NodeProtection({ nodeName: 'n', rootDir: '/' }, common, { controller, provider: {} });
  expect(without.knowsPressure).toBe(true);
});

test('under memory pressure pods go one at a time, the one that uses most beyond its requests first', async () => {
  const modest = podOf('modest', using(gi));
  const greedy = podOf('greedy', using(2 * gi));
  const entitled = podOf('entitled', using(3 * gi));
  const [container] = entitled.spec?.containers ?? [];
  await rig.start(modest, greedy, {
    ...entitled,
    spec: {
      ...entitled.spec,
      containers: [{ ...container, name: 'c', resources: { requests: { memory: '4Gi' } } }],
    },
  });
  rig.freeMemory = gi / 2;
  await rig.clock.advance(60_000);
  expect(evictedPods()).toEqual(['greedy', 'modest', 'entitled']);
});

test('a full disk is first cleared of dead containers and images, and no pod goes when that is enough', async () => {
  await rig.start(podOf('web', using(0, 30 * gi)));
  rig.onReclaim = () => {
    rig.freeDisk = 50 * gi;
  };
  rig.freeDisk = 5 * gi;
  await rig.clock.advance(10_000);
  expect(rig.reclaimed).toEqual(['containers', 'images']);
  expect(rig.events).toContain('n EvictionThresholdMet Attempting to reclaim ephemeral-storage');
  expect(rig.statusOf('web')?.phase).toBe('Running');
  expect(rig.protection.pressure('disk')).toBe(true);
});

test('a full disk that cannot be cleared costs the pod that keeps most on it', async () => {
  await rig.start(podOf('small', using(0, gi)), podOf('large', using(0, 30 * gi)));
  rig.freeDisk = 5 * gi;
  await rig.clock.advance(10_000);
  expect(rig.reclaimed.slice(0, 2)).toEqual(['containers', 'images']);
  expect(rig.statusOf('large')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(evictedPods().slice(0, 1)).toEqual(['large']);
});

const limited = (name: string, limit: string, disk: number): Pod => {
  const pod = podOf(name, using(0, disk));
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: [{ name: 'c', image: 'i', resources: { limits: { 'ephemeral-storage': limit } } }],
    },
  };
};

test('a pod beyond its limit of ephemeral storage is evicted: writable layer, logs, emptyDirs and hosts file together', async () => {
  rig.disk.set('/pod-logs/default_mixed_mixed/c', 400);
  rig.disk.set('/root-dir/pods/mixed/volumes/kubernetes.io~empty-dir/d', 300);
  rig.disk.set('/root-dir/pods/mixed/volumes/kubernetes.io~empty-dir/tmpfs', 1e9);
  rig.disk.set('/root-dir/pods/mixed/etc-hosts', 200);
  const mixed = limited('mixed', '999', 100);
  const volumes = [
    { name: 'd', emptyDir: {} },
    { name: 'tmpfs', emptyDir: { medium: 'Memory' } },
  ];
  await rig.start({ ...mixed, spec: { ...mixed.spec, containers: mixed.spec?.containers ?? [], volumes } });
  await rig.clock.advance(20_000);
  expect(rig.statusOf('mixed')).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 999. ',
  });
});

test('a pod within its limit stays', async () => {
  rig.disk.set('/pod-logs/default_fits_fits/c', 400);
  await rig.start(limited('fits', '500', 100));
  await rig.clock.advance(30_000);
  expect(rig.statusOf('fits')?.phase).toBe('Running');
});

test('an emptyDir beyond its size costs the pod, however it grew', async () => {
  rig.disk.set('/pods/web/volumes/kubernetes.io~empty-dir/d', 1e6);
  const web = podOf('web', using(0));
  const spec = { containers: [], ...web.spec, volumes: [{ name: 'd', emptyDir: { sizeLimit: '2Mi' } }] };
  await rig.start({ ...web, spec });
  await rig.clock.advance(60_000);
  expect(rig.statusOf('web')?.phase).toBe('Running');
  rig.disk.set('/pods/web/volumes/kubernetes.io~empty-dir/d', 3e6);
  await rig.clock.advance(80_000);
  expect(rig.statusOf('web')).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Usage of EmptyDir volume "d" exceeds the limit "2Mi". ',
  });
  expect(rig.statusOf('web')?.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
});

test('a provider that cannot tell what containers use is said to evict nobody', () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const common = { clock: rig.clock, logger, recorder: { event: () => undefined } };
  const options = { nodeName: 'n', rootDir: '/', eviction: rig.options.eviction };
  const protection = new NodeProtection(options, common, { controller: rig.controller, provider: {} });
  expect(warnings).toEqual(['pods are not evicted: the provider does not report container usage']);
  expect(protection.pods.pressure()).toEqual([]);
});

test.for([
  [{}, ['100Mi', '10%', '5%', '15%', '5%']],
  [{ evictionHard: {} }, []],
  [{ evictionHard: { 'memory.available': '1Gi' } }, ['1Gi']],
  [
    { evictionHard: { 'memory.available': '1Gi' }, mergeDefaultEvictionSettings: true },
    ['1Gi', '10%', '5%', '15%', '5%'],
  ],
] as const)('of %o the hard thresholds are %o', ([config, thresholds]) => {
  const { evictionHard } = withDefaultThresholds({ mergeDefaultEvictionSettings: false, ...config });
  expect(Object.values(evictionHard)).toEqual(thresholds);
});

test.for([
  [{ shutdownGracePeriod: '0s', shutdownGracePeriodCriticalPods: '0s' }, undefined],
  [{ shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' }, [20, 10]],
  [
    {
      shutdownGracePeriod: '30s',
      shutdownGracePeriodCriticalPods: '10s',
      featureGates: { GracefulNodeShutdown: false },
    },
    undefined,
  ],
] as const)('by %o the machine’s shutdown is waited for as %o', ([config, windows]) => {
  const options = shutdownOptions(config, { clock: rig.clock, logger: silentLogger });
  expect(options?.windows.map(({ graceSeconds }) => graceSeconds)).toEqual(windows);
});

test('a shutdown ends the pods as Terminated and takes no more', async () => {
  await rig.start(podOf('web', { 'podtender.io/memory.stop-exit-code': '143' }));
  rig.tellShutdown(true);
  await rig.clock.advance(10_000);
  expect(rig.statusOf('web')).toMatchObject({
    phase: 'Failed',
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
  });
  await rig.add(podOf('late'));
  expect(rig.statusOf('late')).toMatchObject({ phase: 'Failed', reason: 'NodeShutdown' });
  expect(rig.protection.shutdownFault()).toBe('node is shutting down');
});

test('the hard thresholds are what a node keeps from its pods', () => {
  expect(hardThresholds(evictionSettings(configuration).thresholds)).toEqual([
    { signal: 'memory.available', quantity: '1Gi' },
    { signal: 'nodefs.available', percentage: Math.fround(0.1) },
  ]);
});

test('all pods together are limited to what the reservations leave', () => {
  const machine = { numCores: 4, memoryCapacity: 8 * gi, machineId: '', systemUuid: '', bootId: '' };
  const measured = { machine, storage: {} };
  expect(allPodsLimits(measured, {}, true)).toEqual({ cpuShares: 4096, memory: 8 * gi });
  const reserving = { kubeReserved: { cpu: '500m' }, systemReserved: { cpu: '1', memory: '1Gi' } };
  expect(allPodsLimits(measured, reserving, true)).toEqual({ cpuShares: 2560, memory: 7 * gi });
  expect(allPodsLimits(measured, reserving, false)).toEqual({ cpuShares: 4096, memory: 8 * gi });
  const more = {
    machine: { ...machine, hugePages: [{ pageSizeKib: 2048, count: 3 }] },
    storage: {},
    mostProcesses: 1000,
  };
  expect(allPodsLimits(more, { systemReserved: { pid: '100' } }, true)).toMatchObject({
    pids: 900,
    hugePageLimit: { [2048 * 1024]: 3 * 2048 * 1024 },
  });
});

test.for([
  [{ shutdownGracePeriod: '0s', shutdownGracePeriodCriticalPods: '0s' }, []],
  [
    { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' },
    [
      { priority: 0, graceSeconds: 20 },
      { priority: 2_000_000_000, graceSeconds: 10 },
    ],
  ],
  [
    {
      shutdownGracePeriod: '0s',
      shutdownGracePeriodCriticalPods: '0s',
      shutdownGracePeriodByPodPriority: [{ priority: 7, shutdownGracePeriodSeconds: 3 }],
    },
    [{ priority: 7, graceSeconds: 3 }],
  ],
] as const)('of %o the windows follow', ([config, windows]) => {
  expect(configuredWindows(config)).toEqual(windows);
});
