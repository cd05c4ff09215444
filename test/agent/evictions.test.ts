import { Subject } from 'rxjs';
import { afterEach, expect, test } from 'vitest';
import {
  configuredWindows,
  evictionSettings,
  hardThresholds,
  makeEvictions,
  makeShutdown,
} from '../../src/agent/evictions.ts';
import { PodsController } from '../../src/agent/pods-controller.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { PodUpdate } from '../../src/config/pod-update.ts';
import type { StatsSummary } from '../../src/eviction/summary.ts';
import { configSourceAnnotation } from '../../src/kube/names.ts';
import type { Node, Pod, PodStatus } from '../../src/kube/types.ts';
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

/** A node agent's pods over the memory provider, with memory that a test sets. */
class Rig {
  readonly clock = new FakeClock(Date.UTC(2026, 0, 1));
  readonly events: string[] = [];
  readonly stop = new AbortController();
  free = 4;
  readonly #updates = new Subject<PodUpdate>();
  readonly #parts = {
    nodeName: 'n',
    clock: this.clock,
    logger: silentLogger,
    recorder: {
      event: (object: Pod, _type: string, reason: string, _message: string): void =>
        void this.events.push(`${object.metadata?.name ?? ''} ${reason}`),
    },
    engines: () => this.controller.engines,
  };
  tellShutdown: (starting: boolean) => void = () => undefined;
  readonly evictions = makeEvictions(
    {
      ...this.#parts,
      reclaim: {},
      summary: {
        get: async () => this.#summary(),
        layout: async () => ({ dedicatedImageFs: false, splitContainerFs: false }),
      },
    },
    evictionSettings(configuration),
  );
  readonly shutdown = makeShutdown(
    {
      ...this.#parts,
      source: {
        onShutdown: (listener) => {
          this.tellShutdown = listener;
          return () => undefined;
        },
      },
      syncNodeStatus: async () => undefined,
    },
    configuredWindows({ shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' }),
  );
  readonly controller = new PodsController({
    clock: this.clock,
    nodeName: 'n',
    nodeIP: '192.0.2.1',
    configUpdates: this.#updates,
    sourcesReady: { addSource: () => undefined, allReady: () => true },
    nodeGetter: () => node,
    eventRecorder: this.#parts.recorder,
    host: {
      pressure: () => this.evictions.conditions(),
      isShuttingDown: () => this.shutdown.isShuttingDown,
    },
  });
  #running: Promise<unknown> = Promise.resolve();

  async start(...pods: readonly Pod[]): Promise<void> {
    this.controller.registerProvider(new MemoryProvider({ clock: this.clock }));
    const { signal } = this.stop;
    this.#running = Promise.all([
      this.controller.run(signal),
      this.evictions.run(signal),
      this.shutdown.run(signal),
    ]);
    await this.add(...pods);
  }

  async add(...pods: readonly Pod[]): Promise<void> {
    this.#updates.next({ op: 'ADD', source: 'api', pods });
    await this.clock.advance(5000);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.#running;
  }

  statusOf(uid: string): PodStatus | undefined {
    return this.controller.getStatusManager().getPodStatus(uid);
  }

  #summary(): StatsSummary {
    const time = new Date(this.clock.now()).toISOString();
    const [availableBytes, workingSetBytes] = [this.free * 1024 ** 3, (8 - this.free) * 1024 ** 3];
    return { node: { memory: { time, availableBytes, workingSetBytes } } };
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
  rig.free = 0.5;
  await rig.clock.advance(20_000);
  expect(rig.statusOf('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(rig.events).toContain('web Evicted');
  expect(rig.evictions.pressure('memory')).toBe(true);
  await rig.add(podOf('late'));
  expect(rig.statusOf('late')).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
  });
});

test('an evicted pod whose containers end well has succeeded, and only its condition tells of the eviction', async () => {
  await rig.start(podOf('web'));
  rig.free = 0.5;
  await rig.clock.advance(20_000);
  const status = rig.statusOf('web');
  expect([status?.phase, status?.reason]).toEqual(['Succeeded', undefined]);
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
  );
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
});

test('the hard thresholds are what a node keeps from its pods', () => {
  expect(hardThresholds(evictionSettings(configuration).thresholds)).toEqual([
    { signal: 'memory.available', quantity: '1Gi' },
    { signal: 'nodefs.available', percentage: Math.fround(0.1) },
  ]);
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
