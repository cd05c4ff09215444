import { Subject } from 'rxjs';
import { expect, test } from 'vitest';
import { kubeletMetrics } from '../../src/agent/metrics/kubelet-metrics.ts';
import { PodsController } from '../../src/pods/pods-controller.ts';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import { uidOf } from '../../src/kube/names.ts';
import type { PodResourceMap } from '../../src/kube/resources/pod-resources.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { metricsText } from '../../src/metrics/metrics.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const node: Node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};

interface Wish {
  readonly cpu: string;
  readonly restart?: boolean;
}

const podOf = (name: string, { cpu, restart }: Wish): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    nodeName: 'n',
    enableServiceLinks: false,
    containers: [
      {
        name: 'c',
        image: 'image:1',
        resources: { requests: { cpu, memory: '1Gi' } },
        ...(restart && { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      },
    ],
  },
});

/** An agent over pods as records; `restart` ends it and starts another over the same pods, records and API server. */
class Bed {
  readonly clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly memory = new MemoryProvider({ clock: this.clock });
  readonly api = new LocalApi(this.clock, systemRandom);
  /** `reason: message` of what was told of resizes. */
  readonly events: string[] = [];
  #kept: PodResourceMap = {};
  #source = new Subject<SourceSnapshot>();
  #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #config: PodConfig | undefined;
  #engines: () => PodsController['engines'] | undefined = () => undefined;

  constructor() {
    this.api.create(nodeResource, node, '');
    this.api.onPodChange(() => {
      queueMicrotask(() => {
        this.#announce();
      });
    });
  }

  async start(provider: PodProvider = this.memory): Promise<this> {
    const { clock, api } = this;
    this.#source = new Subject();
    this.#ending = new AbortController();
    const recorder = {
      event: (_object: unknown, _type: string, reason: string, message: string) => {
        if (reason.startsWith('Resize')) this.events.push(`${reason}: ${message}`);
      },
    };
    const config = new PodConfig({ clock, recorder, logger: silentLogger });
    config.addSource('api', this.#source);
    this.#config = config;
    const controller = new PodsController({
      clock,
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => node,
      eventRecorder: recorder,
      kubeClient: api.client(),
      allocations: {
        before: this.#kept,
        save: (state) => {
          this.#kept = state();
          return Promise.resolve();
        },
      },
    });
    controller.registerProvider(provider);
    this.#engines = () => controller.engines;
    this.#running = controller.run(this.#ending.signal);
    await settle();
    this.#announce();
    await this.#pass();
    return this;
  }

  #announce(): void {
    this.#source.next({ source: 'api', pods: this.api.pods() });
  }

  async create(name: string, wish: Wish): Promise<void> {
    this.api.create(podResource, podOf(name, wish), 'default');
    await this.#pass();
  }

  async resize(name: string, cpu: string): Promise<void> {
    this.ask(name, cpu);
    await this.#pass();
  }

  ask(name: string, cpu: string): void {
    this.api.change(
      { resource: podResource, ref: { namespace: 'default', name }, subresource: 'resize' },
      (old) => {
        const { spec } = old as Pod;
        const [first] = spec?.containers ?? [];
        const containers = [{ ...first, resources: { requests: { cpu, memory: '1Gi' } } }];
        return { ...old, spec: { ...spec, containers } };
      },
    );
  }

  async delete(name: string): Promise<void> {
    this.api.delete(podResource, { namespace: 'default', name }, {});
    await this.#pass();
  }

  async #pass(): Promise<void> {
    await settle();
    await this.clock.advance(3000);
    await settle();
  }

  /** CPU as the API server is told it, `running/allocated`, with the restarts where there were any. */
  cpu(name: string): string {
    const [status] = this.#pod(name).status?.containerStatuses ?? [];
    const restarts = status?.restartCount ? ` #${status.restartCount}` : '';
    return `${status?.resources?.requests?.['cpu']}/${status?.allocatedResources?.['cpu']}${restarts}`;
  }

  conditions(name: string): readonly object[] {
    return (this.#pod(name).status?.conditions ?? [])
      .filter(({ type }) => type.startsWith('PodResize'))
      .map(({ type, reason, message, observedGeneration }) => ({
        type,
        ...(reason && { reason }),
        ...(message && { message }),
        observedGeneration,
      }));
  }

  /** What `/metrics` tells of resizes. */
  metrics(): readonly string[] {
    const engines = this.#engines();
    if (!engines) return [];
    return metricsText([...kubeletMetrics(engines, 'n'), ...engines.metrics.collect()])
      .split('\n')
      .filter((line) => /^kubelet_\w*resizes/.test(line));
  }

  uid(name: string): string {
    return uidOf(this.#pod(name));
  }

  #pod(name: string): Pod {
    const pod = this.api.pods().find(({ metadata }) => metadata?.name === name);
    if (!pod) throw new Error(`no pod ${name}`);
    return pod;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    this.#config?.stop();
    await settle();
    await this.#running;
  }
}

const summary = (cpu: string, generation: number): string =>
  `{"containers":[{"name":"c","resources":{"requests":{"cpu":"${cpu}","memory":"1Gi"}}}],"generation":${generation}}`;

test('a running container gets more CPU without a restart, and both ends of it are told', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.resize('a', '2');
  expect(bed.cpu('a')).toBe('2/2');
  expect(bed.conditions('a')).toEqual([]);
  expect(bed.events).toEqual([
    `ResizeStarted: Pod resize started: ${summary('2', 2)}`,
    `ResizeCompleted: Pod resize completed: ${summary('2', 2)}`,
  ]);
  await bed.stop();
});

test('a container whose policy says so starts anew with what it gets', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1', restart: true });
  await bed.resize('a', '2');
  expect(bed.cpu('a')).toBe('2/2 #1');
  await bed.stop();
});

const message = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000";

test('what does not fit now waits until a pod goes', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '2' });
  await bed.resize('a', '3');
  expect(bed.cpu('a')).toBe('1/1');
  expect(bed.conditions('a')).toEqual([
    { type: 'PodResizePending', reason: 'Deferred', message, observedGeneration: 2 },
  ]);
  expect(bed.events).toEqual([
    `ResizeDeferred: Pod resize OutOfcpu: ${summary('3', 2).slice(0, -1)},"error":"${message}"}`,
  ]);
  const increase =
    'kubelet_container_requested_resizes_total{resource="cpu",operation="increase",requirement="requests"} 1';
  const progress = 'kubelet_pod_in_progress_resizes 0';
  expect(bed.metrics()).toEqual([increase, progress, 'kubelet_pod_pending_resizes{reason="deferred"} 1']);
  await bed.delete('b');
  expect(bed.cpu('a')).toBe('3/3');
  expect(bed.metrics()).toEqual([
    increase,
    expect.stringMatching(/^kubelet_pod_deferred_accepted_resizes_total\{retry_trigger="pod\w+"\} 1$/),
    progress,
  ]);
  expect(bed.conditions('a')).toEqual([]);
  await bed.stop();
});

test('a pod that shrinks makes room for one that waits, as soon as it has shrunk', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '2' });
  await bed.resize('a', '3');
  await bed.resize('b', '500m');
  expect(bed.cpu('b')).toBe('500m/500m');
  expect(bed.cpu('a')).toBe('3/3');
  await bed.stop();
});

test('a resize that was taken back does not wait any more', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '2' });
  await bed.resize('a', '3');
  await bed.resize('a', '1');
  expect(bed.conditions('a')).toEqual([]);
  await bed.delete('b');
  expect(bed.cpu('a')).toBe('1/1');
  await bed.stop();
});

test('a new pod counts on what others were given, not on what they wish for', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '2' });
  await bed.resize('a', '3');
  await bed.create('c', { cpu: '1' });
  expect(bed.cpu('c')).toBe('1/1');
  await bed.stop();
});

test('a resize that fails is told as an error and tried again', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  for (let times = 0; times < 3; times++) bed.memory.failNext('resizePod', new Error('told to fail'));
  await bed.resize('a', '2');
  expect(bed.conditions('a')).toEqual([
    { type: 'PodResizeInProgress', reason: 'Error', message: 'told to fail', observedGeneration: 2 },
  ]);
  expect(bed.events.at(-1)).toBe(
    `ResizeError: Pod resize error: ${summary('2', 2).slice(0, -1)},"error":"told to fail"}`,
  );
  await bed.clock.advance(30_000);
  await settle();
  expect(bed.cpu('a')).toBe('2/2');
  expect(bed.conditions('a')).toEqual([]);
  await bed.stop();
});

test('what an agent had begun, or put off, the next one goes on with', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '1' });
  await bed.resize('a', '4');
  for (let times = 0; times < 3; times++) bed.memory.failNext('resizePod', new Error('too late'));
  await bed.resize('b', '2');
  await bed.stop();
  bed.ask('b', '500m'); // while no agent runs
  await bed.start();
  await bed.clock.advance(30_000); // resizes are not decided before all sources are known
  await settle();
  expect(bed.cpu('b')).toBe('500m/500m');
  expect(bed.conditions('a')).toMatchObject([{ type: 'PodResizePending', reason: 'Deferred' }]);
  await bed.delete('b');
  expect(bed.cpu('a')).toBe('4/4');
  await bed.stop();
});

test('waiting resizes are tried from time to time, whatever is told', async () => {
  const bed = await new Bed().start();
  await bed.create('a', { cpu: '1' });
  await bed.create('b', { cpu: '2' });
  await bed.resize('a', '3');
  const { status } = node;
  Object.assign(node, { status: { allocatable: { ...status?.allocatable, cpu: '8' } } });
  try {
    await bed.clock.advance(180_000);
    await settle();
    expect(bed.cpu('a')).toBe('3/3');
  } finally {
    Object.assign(node, { status });
    await bed.stop();
  }
});

test('a provider that cannot resize says so, and the pod keeps its size', async () => {
  const bed = new Bed();
  const { memory } = bed;
  await bed.start(
    new Proxy(memory, {
      get: (target, key) => {
        const value = key === 'resizes' ? undefined : (Reflect.get(target, key) as unknown);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    }),
  );
  await bed.create('a', { cpu: '1' });
  await bed.resize('a', '2');
  const why = 'In-place resize is not supported by the provider memory.';
  expect(bed.conditions('a')).toEqual([
    { type: 'PodResizePending', reason: 'Infeasible', message: why, observedGeneration: 2 },
  ]);
  expect(bed.cpu('a')).toBe('1/1');
  await bed.stop();
});
