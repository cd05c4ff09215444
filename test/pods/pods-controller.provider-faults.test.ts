import { Subject } from 'rxjs';
import { afterEach, expect, test } from 'vitest';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import type { LogFields, Logger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { PodsController } from '../../src/pods/pods-controller.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const node: Node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};

type Method = keyof PodProvider;
type Fault = 'throws' | 'rejects' | 'rejects with a text' | 'returns garbage' | 'never answers';

/** What a faulty method does instead of what it should. */
const acts: Readonly<Record<Fault, () => unknown>> = {
  throws: () => {
    throw new Error('the backend is away');
  },
  rejects: () => Promise.reject(new Error('the backend is away')),
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as providers do
  'rejects with a text': () => Promise.reject('the backend is away'),
  'returns garbage': () => Promise.resolve({ pods: 'none' }),
  'never answers': () => new Promise(() => undefined),
};

/** The memory provider of which one method at a time is at fault, as an author's own may be. */
function faulty(
  memory: MemoryProvider,
  fault: () => { method: Method; act: () => unknown } | undefined,
): PodProvider {
  return new Proxy(memory, {
    get: (target, key) => {
      // an author's provider has no listing of some pods, and no word on its health
      if (key === 'listSome' || key === 'getListedPodStatus') return undefined;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const now = fault();
        if (now?.method === key) return now.act();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

class Bed {
  readonly clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly memory = new MemoryProvider({ clock: this.clock });
  readonly api = new LocalApi(this.clock, systemRandom);
  readonly events: { reason: string; message: string; object: string }[] = [];
  readonly lines: Line[] = [];
  fault: { method: Method; act: () => unknown } | undefined;
  readonly #source = new Subject<SourceSnapshot>();
  readonly #ending = new AbortController();
  #config: PodConfig | undefined;
  #running: Promise<void> = Promise.resolve();

  async start(): Promise<this> {
    const { clock, api } = this;
    api.create(nodeResource, node, '');
    api.onPodChange(() => {
      queueMicrotask(() => {
        this.#source.next({ source: 'api', pods: api.pods() });
      });
    });
    const recorder = {
      event: (object: { metadata?: { name?: string } }, _type: string, reason: string, message: string) =>
        void this.events.push({ reason, message, object: object.metadata?.name ?? '' }),
    };
    const logger = this.#logger();
    const config = new PodConfig({ clock, recorder, logger });
    config.addSource('api', this.#source);
    this.#config = config;
    const controller = new PodsController({
      clock,
      logger,
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => node,
      eventRecorder: recorder,
      kubeClient: api.client(),
    });
    controller.registerProvider(faulty(this.memory, () => this.fault));
    this.#running = controller.run(this.#ending.signal);
    await settle();
    this.#source.next({ source: 'api', pods: api.pods() });
    await this.pass(3);
    return this;
  }

  #logger(): Logger {
    const write =
      (level: string) =>
      (message: string, fields: LogFields = {}): void =>
        void this.lines.push({ level, message, fields });
    const logger: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: write('warn'),
      error: write('error'),
      with: () => logger,
    };
    return logger;
  }

  async create(name: string, init = false): Promise<void> {
    const container = { name: 'c', image: 'image:1' };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName: 'n',
        enableServiceLinks: false,
        containers: [container],
        ...(init && { initContainers: [{ ...container, name: 'i' }] }),
      },
    };
    this.api.create(podResource, pod, 'default');
    await this.pass(3);
  }

  delete(name: string): void {
    this.api.delete(podResource, { namespace: 'default', name }, { gracePeriodSeconds: 1 });
  }

  async pass(seconds: number): Promise<void> {
    await settle();
    await this.clock.advance(seconds * 1000);
    await settle();
  }

  pod(name: string): Pod | undefined {
    return this.api.pods().find(({ metadata }) => metadata?.name === name);
  }

  eventsOf(reason: string): readonly string[] {
    return this.events.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  /** Error lines of a step, in order. */
  linesOf(step: string): readonly LogFields[] {
    return this.lines
      .filter(({ level, fields }) => level === 'error' && fields['step'] === step)
      .map((l) => l.fields);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    this.#config?.stop();
    await settle();
    await this.#running;
    expect(this.clock.pending, 'no timer').toBe(0);
  }
}

const unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));
afterEach(async () => {
  await settle();
  expect(unhandled.splice(0), 'no rejection is left to Node.js').toEqual([]);
});

/** What the text of each kind of fault says; a call that hangs ends with its deadline. */
const said: Readonly<Record<Fault, RegExp>> = {
  throws: /the backend is away/,
  rejects: /the backend is away/,
  'rejects with a text': /the backend is away/,
  'returns garbage': /^.*provider memory: (\w+): .* (is|not) /,
  'never answers': /provider memory: \w+: no answer within \w+/,
};
const faults = Object.keys(acts) as Fault[];

/** Longer than the deadline of any call, s. */
const long = 610 + 15;

test.for(faults)(
  'syncPod %s: logged, recorded as FailedSync, and the pod runs when the provider is well',
  async (kind) => {
    const bed = await new Bed().start();
    bed.fault = { method: 'syncPod', act: acts[kind] };
    await bed.create('a');
    await bed.pass(kind === 'never answers' ? long : 60);
    expect(bed.pod('a')?.status?.phase).toBe('Pending');
    const [early, ...events] = bed.eventsOf('FailedSync');
    if (kind === 'never answers')
      expect(early).toBe('provider memory: syncPod: no answer for 2m0s; the call ends after 10m0s');
    const failed = kind === 'never answers' ? events[0] : early;
    expect(failed).toMatch(said[kind]);
    expect(failed).toMatch(/^error syncing pod: /);
    const [first, ...again] = bed.linesOf('sync');
    expect(first).toMatchObject({ pod: 'default/a', uid: bed.pod('a')?.metadata?.uid });
    expect(first?.['err']).toMatch(said[kind]);
    if (kind !== 'rejects with a text') expect(first?.['stack']).toMatch(/^\s+at /m);
    for (const line of again) expect(line, 'the stack once').not.toHaveProperty('stack');
    bed.fault = undefined;
    await bed.pass(kind === 'never answers' ? long : 20);
    expect(bed.pod('a')?.status?.phase).toBe('Running');
    await bed.stop();
  },
);

test('an error in the results of syncPod is the waiting reason, and recorded', async () => {
  const bed = await new Bed().start();
  const results = [
    { action: 'StartContainer', target: 'c', reason: 'CreateContainerError', message: 'no room "left"' },
  ];
  bed.fault = { method: 'syncPod', act: () => Promise.resolve({ results, changed: false }) };
  await bed.create('a');
  await bed.pass(30);
  expect(bed.pod('a')?.status?.containerStatuses?.[0]?.state).toEqual({
    waiting: { reason: 'CreateContainerError', message: 'no room "left"' },
  });
  const failure = 'failed to "StartContainer" for "c" with CreateContainerError: "no room \\"left\\""';
  expect(bed.eventsOf('FailedSync')[0]).toBe(`error syncing pod: ${failure}`);
  expect(bed.linesOf('sync')[0]).toMatchObject({ pod: 'default/a', err: failure });
  bed.fault = undefined;
  await bed.pass(20);
  expect(bed.pod('a')?.status?.phase).toBe('Running');
  await bed.stop();
});

test('an error that syncPod resolves with, a text too, is recorded and logged', async () => {
  const bed = await new Bed().start();
  bed.fault = {
    method: 'syncPod',
    act: () => Promise.resolve({ results: [], changed: false, error: 'quota is used up', backOffUntil: NaN }),
  };
  await bed.create('a');
  await bed.pass(30);
  expect(bed.eventsOf('FailedSync')[0]).toBe('error syncing pod: quota is used up');
  expect(bed.eventsOf('FailedSync').length, 'it is tried again').toBeGreaterThan(1);
  expect(bed.linesOf('sync')[0]).toMatchObject({ err: 'quota is used up' });
  await bed.stop();
});

test('a container that only waits for its next start is a BackOff, not a FailedSync', async () => {
  const bed = await new Bed().start();
  const results = [
    { action: 'StartContainer', target: 'c', reason: 'CrashLoopBackOff', message: 'back-off 10s' },
  ];
  bed.fault = { method: 'syncPod', act: () => Promise.resolve({ results, changed: false }) };
  await bed.create('a');
  expect(bed.eventsOf('FailedSync')).toEqual([]);
  expect(bed.eventsOf('BackOff')[0]).toMatch(/CrashLoopBackOff: "back-off 10s"/);
  await bed.stop();
});

test.for(faults.filter((kind) => kind !== 'returns garbage'))(
  'killPod %s: logged, recorded as FailedKillPod, the pod stays until it is stopped, and goes then',
  async (kind) => {
    const bed = await new Bed().start();
    await bed.create('a');
    bed.fault = { method: 'killPod', act: acts[kind] };
    bed.delete('a');
    await bed.pass(kind === 'never answers' ? 130 : 30);
    expect(bed.pod('a'), 'not deleted while it runs').toBeDefined();
    expect(bed.eventsOf('FailedKillPod')[0]).toMatch(/^error killing pod: /);
    expect(bed.eventsOf('FailedKillPod')[0]).toMatch(said[kind]);
    expect(bed.linesOf('terminating')[0]?.['err']).toMatch(said[kind]);
    bed.fault = undefined;
    await bed.pass(kind === 'never answers' ? 150 : 20);
    expect(bed.pod('a')).toBeUndefined();
    await bed.stop();
  },
);

test('killPod that returns garbage, and stops nothing, is found out: the pod is not told to have ended', async () => {
  const bed = await new Bed().start();
  await bed.create('a');
  bed.fault = { method: 'killPod', act: acts['returns garbage'] };
  bed.delete('a');
  await bed.pass(30);
  expect(bed.pod('a')).toBeDefined();
  expect(bed.linesOf('terminating')[0]?.['err']).toMatch(
    /detected running containers after a successful KillPod/,
  );
  bed.fault = undefined;
  await bed.pass(20);
  expect(bed.pod('a')).toBeUndefined();
  await bed.stop();
});

test.for(faults)(
  'listPods %s: logged with its step, recorded on the pods that wait, never taken for "no pods"',
  async (kind) => {
    const bed = await new Bed().start();
    await bed.create('old');
    bed.fault = { method: 'listPods', act: acts[kind] };
    await bed.create('a');
    await bed.pass(kind === 'never answers' ? 250 : 30);
    expect(bed.linesOf('listPods')[0]?.['err']).toMatch(said[kind]);
    for (const line of bed.linesOf('listPods').slice(1))
      expect(line, 'the stack once').not.toHaveProperty('stack');
    expect(bed.eventsOf('FailedSync')[0]).toMatch(/^error listing pods: /);
    expect(bed.pod('old')?.status?.phase, 'a failed listing is not an empty one').toBe('Running');
    bed.fault = undefined;
    await bed.pass(130);
    expect(bed.pod('a')?.status?.phase).toBe('Running');
    await bed.stop();
  },
);

test.for(faults)(
  'getPodStatus %s: logged with the pod, recorded as FailedSync, and the pod runs when it answers',
  async (kind) => {
    const bed = await new Bed().start();
    bed.fault = { method: 'getPodStatus', act: acts[kind] };
    await bed.create('a');
    await bed.pass(kind === 'never answers' ? 250 : 30);
    expect(bed.linesOf('getPodStatus')[0]).toMatchObject({ pod: 'default/a' });
    expect(bed.linesOf('getPodStatus')[0]?.['err']).toMatch(said[kind]);
    if (kind !== 'never answers')
      expect(bed.eventsOf('FailedSync')[0]).toMatch(/^error determining status: /);
    bed.fault = undefined;
    await bed.pass(130);
    expect(bed.pod('a')?.status?.phase).toBe('Running');
    await bed.stop();
  },
);

test.for(faults)(
  'getPodStatus %s while a pod ends: it is not told to have ended before that is known',
  async (kind) => {
    const bed = await new Bed().start();
    await bed.create('a');
    bed.fault = { method: 'getPodStatus', act: acts[kind] };
    bed.delete('a');
    await bed.pass(kind === 'never answers' ? 250 : 30);
    expect(bed.pod('a')).toBeDefined();
    expect(bed.eventsOf('FailedSync')[0]).toMatch(/^error determining status: /);
    bed.fault = undefined;
    await bed.pass(150);
    expect(bed.pod('a')).toBeUndefined();
    await bed.stop();
  },
);

test.for(['throws', 'returns garbage'] as const)(
  'admit %s: the pod is refused as unexpected, and others are judged',
  async (kind) => {
    const bed = new Bed();
    Object.assign(bed.memory, { admit: () => ({ admit: true }) });
    await bed.start();
    bed.fault = { method: 'admit', act: acts[kind] };
    await bed.create('a');
    expect(bed.pod('a')?.status).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(bed.eventsOf('UnexpectedAdmissionError')[0]).toMatch(/^provider memory could not judge the pod: /);
    expect(bed.linesOf('admit')).toHaveLength(1);
    bed.fault = undefined;
    await bed.create('b');
    expect(bed.pod('b')?.status?.phase).toBe('Running');
    await bed.stop();
  },
);

test.for(['throws', 'rejects', 'returns garbage'] as const)(
  'onPodEvent %s: the agent starts, and finds changes by listing',
  async (kind) => {
    const bed = new Bed();
    bed.fault = { method: 'onPodEvent', act: acts[kind] };
    await bed.start();
    await bed.create('a');
    await bed.pass(5);
    expect(bed.pod('a')?.status?.phase).toBe('Running');
    await bed.stop();
  },
);

test.for(['throws', 'rejects'] as const)('removeDeadContainers %s: logged, nothing else', async (kind) => {
  const bed = await new Bed().start();
  await bed.create('a');
  bed.fault = { method: 'removeDeadContainers', act: acts[kind] };
  bed.memory.endContainer(bed.pod('a')?.metadata?.uid ?? '', 'c', 1);
  await bed.pass(40);
  expect(bed.linesOf('removeDeadContainers')[0]?.['err']).toMatch(/the backend is away/);
  expect(bed.pod('a')?.status?.phase).toBe('Running');
  await bed.stop();
});

test('what is no provider is refused by name when it is registered', () => {
  const clock = new FakeClock();
  const make = (provider: unknown) => (): void => {
    const config = new PodConfig({
      clock,
      recorder: { event: () => undefined },
      logger: new Bed().clock as never,
    });
    new PodsController({
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => node,
    }).registerProvider(provider as PodProvider);
  };
  const method = (): void => undefined;
  expect(make(undefined)).toThrow('a provider is an object, not undefined');
  expect(make({ name: 'rooms', syncPod: method })).toThrow(
    'the provider lacks killPod(), listPods(), getPodStatus()',
  );
  const all = { syncPod: method, killPod: method, listPods: method, getPodStatus: method };
  expect(make(all)).toThrow('the provider has no name');
  expect(make({ ...all, name: 'rooms', deadlines: { query: 0 } })).toThrow(
    'deadlines.query of the provider is 0, not a number of ms above 0',
  );
  expect(make(Object.freeze({ ...all, name: 'rooms' }))).not.toThrow();
});
