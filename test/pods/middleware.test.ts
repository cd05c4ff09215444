import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Subject } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { nodeResource, podResource } from '../../src/api/resources.ts';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import type { Container, Pod } from '../../src/kube/types.ts';
import { CopyFiles, type CopyKeeper } from '../../src/pods/copy-files.ts';
import { PodsController } from '../../src/pods/pods-controller.ts';
import type { Middleware } from '../../src/provider/middleware.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const node = {
  metadata: { name: 'n', uid: 'node-uid', labels: { 'kubernetes.io/os': 'linux' } },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};
const main: Container = { name: 'c', image: 'app:1' };
const manifest = (spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'a', namespace: 'default' },
  spec: { nodeName: 'n', enableServiceLinks: false, containers: [main], ...spec },
});

/** What an agent leaves to the one after it. */
interface Remains {
  readonly clock: FakeClock;
  readonly api: LocalApi;
  readonly memory: MemoryProvider;
  readonly copies?: CopyKeeper;
}

/** A node with one pod, whose provider's calls are recorded. */
class World {
  readonly clock: FakeClock;
  readonly api: LocalApi;
  readonly memory: MemoryProvider;
  readonly remains: Remains;
  readonly synced: Pod[] = [];
  readonly killed: Pod[] = [];
  readonly events: string[] = [];
  readonly #source = new Subject<SourceSnapshot>();
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  constructor(middleware: readonly Middleware[], { copies, ...before }: Partial<Remains> = {}) {
    const clock = before.clock ?? new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
    const api = before.api ?? new LocalApi(clock, systemRandom);
    this.memory = before.memory ?? new MemoryProvider({ clock });
    [this.clock, this.api] = [clock, api];
    this.remains = { clock, api, memory: this.memory, ...(copies && { copies }) };
    const recorder = {
      event: (_: unknown, type: string, reason: string, message: string) => {
        this.events.push(`${type} ${reason}: ${message}`);
      },
    };
    const config = new PodConfig({ clock, recorder, logger: silentLogger });
    config.addSource('api', this.#source);
    if (!before.api) api.create(nodeResource, node, '');
    const controller = new PodsController({
      clock,
      nodeName: 'n',
      nodeIP: '192.0.2.1',
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => node,
      kubeClient: api.client(),
      eventRecorder: recorder,
      middleware,
      ...(copies && { copies }),
    });
    controller.registerProvider(this.#recording(this.memory));
    this.#running = controller.run(this.#ending.signal);
  }

  #recording(memory: MemoryProvider): MemoryProvider {
    const [sync, kill] = [memory.syncPod.bind(memory), memory.killPod.bind(memory)];
    memory.syncPod = (request, ...rest) => {
      this.synced.push(request.pod);
      return sync(request, ...rest);
    };
    memory.killPod = (pod, ...rest) => {
      if (pod) this.killed.push(pod);
      return kill(pod, ...rest);
    };
    return memory;
  }

  async add(pod: Pod): Promise<void> {
    await settle();
    this.api.create(podResource, pod, 'default');
    await this.pass(3000);
  }

  async pass(ms: number): Promise<void> {
    this.#source.next({ source: 'api', pods: this.api.pods() });
    await this.clock.advance(ms);
  }

  get status(): NonNullable<Pod['status']> {
    return this.api.pods()[0]?.status ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.clock.advance(1000);
    await this.#running;
  }
}

describe('a copy of the pod', () => {
  test('has the changes of all hooks in the order of the chain; the API object stays as it is', async () => {
    const order: string[] = [];
    const noted = (name: string, middleware: Omit<Middleware, 'name'>): Middleware => ({
      name,
      ...Object.fromEntries(
        Object.entries(middleware).map(([hook, act]) => [
          hook,
          (...args: never[]) => {
            order.push(`${name}.${hook}`);
            return (act as (...args: never[]) => unknown)(...args);
          },
        ]),
      ),
    });
    await using world = new World([
      noted('first', {
        podAddition: ({ pod }) => ({
          pod: { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [], hostname: 'h' } },
        }),
        containerOptions: () => ({ env: [{ name: 'ZONE', value: 'first' }], command: ['run'] }),
      }),
      noted('second', {
        podAddition: () => undefined,
        mounts: () => [{ hostPath: '/srv/keys', mountPath: '/keys' }],
        containerOptions: async ({ container }) =>
          Promise.resolve({ env: [{ name: 'ZONE', value: `${container.env?.[0]?.value ?? ''}+second` }] }),
      }),
    ]);
    await world.add(manifest());
    expect(order.slice(0, 5)).toEqual([
      'first.podAddition',
      'second.podAddition',
      'first.containerOptions',
      'second.mounts',
      'second.containerOptions',
    ]);
    const [copy] = world.synced;
    expect(copy?.spec?.hostname).toBe('h');
    expect(copy?.spec?.containers[0]).toMatchObject({
      command: ['run'],
      env: [{ name: 'ZONE', value: 'first+second' }],
      volumeMounts: [expect.objectContaining({ mountPath: '/keys', readOnly: true })],
    });
    expect(copy?.spec?.volumes?.at(-1)).toMatchObject({ hostPath: { path: '/srv/keys' } });
    expect(copy?.spec?.volumes?.at(-1)?.name).toBe(copy?.spec?.containers[0]?.volumeMounts?.[0]?.name);
    const [stored] = world.api.pods();
    expect(stored?.spec?.hostname).toBeUndefined();
    expect(stored?.spec?.containers[0]?.env).toBeUndefined();
    expect(stored?.status?.phase).toBe('Running');
  });

  test('is what ends, too', async () => {
    await using world = new World([
      {
        name: 'grace',
        podAddition: ({ pod }) => ({
          pod: {
            ...pod,
            spec: { ...pod.spec, containers: pod.spec?.containers ?? [], terminationGracePeriodSeconds: 3 },
          },
        }),
      },
    ]);
    await world.add(manifest());
    world.api.delete(podResource, { namespace: 'default', name: 'a' }, { gracePeriodSeconds: 5 });
    await world.pass(5000);
    expect(world.killed[0]?.spec?.terminationGracePeriodSeconds).toBe(3);
    expect(world.killed[0]?.metadata?.deletionTimestamp).toBeDefined();
  });
});

describe('a refusal', () => {
  const refusing: Middleware = {
    name: 'images',
    podAddition: () => ({ refuse: { reason: 'ImageNotAllowed', message: 'app:1 is not on the list' } }),
  };

  test('fails the pod with its reason, and nothing of it is started', async () => {
    await using world = new World([refusing]);
    await world.add(manifest());
    await world.pass(3000);
    expect(world.status).toMatchObject({
      phase: 'Failed',
      reason: 'ImageNotAllowed',
      message: 'Pod was rejected: app:1 is not on the list',
    });
    expect(world.synced).toEqual([]);
    expect(world.events.filter((event) => event.startsWith('Warning'))).toEqual([
      'Warning ImageNotAllowed: app:1 is not on the list',
    ]);
  });

  test('of a pod that has started is logged, and the pod runs on', async () => {
    let refuse = false;
    await using world = new World([
      { name: 'images', podAddition: (context) => (refuse ? refusing.podAddition?.(context) : undefined) },
    ]);
    await world.add(manifest());
    expect(world.status.phase).toBe('Running');
    refuse = true;
    await world.pass(120_000);
    expect(world.status.phase).toBe('Running');
    expect(world.killed).toEqual([]);
  });
});

describe('after a restart of the agent', () => {
  /** Allows `app:1` alone, and sets the zone. */
  const chain: readonly Middleware[] = [
    {
      name: 'images',
      podAddition: ({ pod }) => {
        const { image = '' } = pod.spec?.containers[0] ?? {};
        return image === 'app:1'
          ? undefined
          : { refuse: { reason: 'ImageNotAllowed', message: `${image} is not on the list` } };
      },
    },
    { name: 'zone', containerOptions: () => ({ env: [{ name: 'ZONE', value: 'eu' }] }) },
  ];
  const strict: readonly Middleware[] = [
    {
      name: 'images',
      podAddition: () => ({ refuse: { reason: 'ImageNotAllowed', message: 'nothing is on the list' } }),
    },
  ];
  const broken: readonly Middleware[] = [
    { name: 'images', podAddition: () => Promise.reject(new Error('no list')) },
  ];
  /** Keeps copies as text, as on a disk. */
  const keeper = (): CopyKeeper & { readonly texts: Map<string, string> } => {
    const texts = new Map<string, string>();
    return {
      texts,
      read: ({ metadata }) => {
        const text = texts.get(metadata?.uid ?? '');
        return text === undefined ? undefined : (JSON.parse(text) as Pod);
      },
      save: async (copy) => void texts.set(copy.metadata?.uid ?? '', JSON.stringify(copy)),
    };
  };
  async function before(copies: CopyKeeper): Promise<World> {
    await using world = new World(chain, { copies });
    await world.add(manifest());
    expect(world.status.phase).toBe('Running');
    return world;
  }
  const setImage = async ({ api }: World, image: string): Promise<void> => {
    const [pod] = api.pods();
    await api
      .client()
      .update(podResource, { ...pod, spec: { ...pod?.spec, containers: [{ ...main, image }] } });
  };

  test('a change that was refused has still no effect, and the pod runs on with its copy', async () => {
    const first = await before(keeper());
    await setImage(first, 'evil:1');
    await using world = new World(chain, first.remains);
    await world.pass(3000);
    await world.pass(120_000);
    expect(world.api.pods()[0]?.spec?.containers[0]?.image).toBe('evil:1');
    expect(world.synced.length).toBeGreaterThan(0);
    for (const { spec } of world.synced)
      expect(spec?.containers[0]).toMatchObject({ image: 'app:1', env: [{ name: 'ZONE', value: 'eu' }] });
    expect(world.status).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
    await setImage(world, 'app:1');
    await world.pass(3000);
    expect(world.synced.at(-1)?.spec?.containers[0]?.image).toBe('app:1');
  });

  test.each([
    ['refuses what ran before', strict],
    ['fails', broken],
  ])('a middleware that %s leaves the running pod with its copy', async (_, next) => {
    const first = await before(keeper());
    await using world = new World(next, first.remains);
    await world.pass(3000);
    await world.pass(60_000);
    expect(world.synced.at(-1)?.spec?.containers[0]?.env).toEqual([{ name: 'ZONE', value: 'eu' }]);
    expect(world.status).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
    world.api.delete(podResource, { namespace: 'default', name: 'a' }, { gracePeriodSeconds: 5 });
    await world.pass(10_000);
    expect(world.killed[0]?.spec?.containers[0]?.env).toEqual([{ name: 'ZONE', value: 'eu' }]);
  });

  test('a pod whose kept copy is damaged is not synced with the change that is refused', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'podtender-copies-'));
    try {
      const copies = new CopyFiles(() => join(dir, 'copy.json'));
      const first = await before(keeper());
      writeFileSync(join(dir, 'copy.json'), '{"metadata":');
      await setImage(first, 'evil:1');
      await using world = new World(chain, { ...first.remains, copies });
      await world.pass(3000);
      await world.pass(60_000);
      expect(world.synced).toEqual([]);
      expect(world.status.phase).toBe('Running');
      expect(world.events.join()).toMatch(
        /FailedSync: .*the copy that middleware made of the pod cannot be read: .*copy\.json/,
      );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('a middleware that fails', () => {
  const failures: Record<string, () => Middleware['podAddition']> = {
    throws: () => () => {
      throw new Error('no list of images');
    },
    rejects: () => () => Promise.reject(new Error('no list of images')),
    'never answers': () => () => new Promise(() => undefined),
    'answers nonsense': () => () => ({ pod: 42 }) as never,
    'changes the UID':
      () =>
      ({ pod }) => ({
        pod: { ...pod, metadata: { ...pod.metadata, uid: 'other' } },
      }),
  };
  const causes: Record<string, string> = {
    throws: 'no list of images',
    rejects: 'no list of images',
    'never answers': 'no answer within 2s',
    'answers nonsense': 'pod must be a Pod',
    'changes the UID': 'the copy must keep the UID, name and namespace of the pod',
  };

  test.each(Object.keys(failures))(
    '%s: it is named, the pod waits, and starts once it is well',
    async (how) => {
      const failing = failures[how]?.();
      let broken = true;
      await using world = new World([
        {
          name: 'images',
          deadlineMs: 2000,
          podAddition: (context) => (broken ? failing?.(context) : undefined),
        },
      ]);
      await world.add(manifest());
      await world.pass(1000);
      expect(world.synced).toEqual([]);
      const failed = world.events.filter((event) => event.startsWith('Warning'));
      expect(failed[0]).toBe(`Warning FailedSync: middleware "images": podAddition: ${causes[how] ?? ''}`);
      broken = false;
      await world.pass(60_000);
      expect(world.status.phase).toBe('Running');
    },
  );

  test('later leaves a running pod as it is', async () => {
    let broken = false;
    await using world = new World([
      {
        name: 'zone',
        containerOptions: () => {
          if (broken) throw new Error('away');
          return { env: [{ name: 'ZONE', value: 'eu' }] };
        },
      },
    ]);
    await world.add(manifest());
    broken = true;
    await world.pass(120_000);
    expect(world.synced.length).toBeGreaterThan(1);
    expect(world.synced.at(-1)?.spec?.containers[0]?.env).toEqual([{ name: 'ZONE', value: 'eu' }]);
    expect(world.status.containerStatuses?.[0]).toMatchObject({ ready: true, restartCount: 0 });
  });
});

test('providerSync runs around the provider, the first of the chain outermost', async () => {
  const order: string[] = [];
  const layer = (name: string): Middleware => ({
    name,
    providerSync: async (request, next) => {
      order.push(`${name} before`);
      const result = await next(request);
      order.push(`${name} after`);
      return result;
    },
  });
  await using world = new World([layer('outer'), layer('inner')]);
  await world.add(manifest());
  expect(order.slice(0, 4)).toEqual(['outer before', 'inner before', 'inner after', 'outer after']);
  expect(world.status.phase).toBe('Running');
});

test('podStatus changes what the API server gets; a failing one is left out', async () => {
  await using world = new World([
    {
      name: 'broken',
      podStatus: () => {
        throw new Error('no');
      },
    },
    {
      name: 'zone',
      podStatus: ({ status }) => ({ ...status, message: 'in zone eu' }),
    },
  ]);
  await world.add(manifest());
  expect(world.status).toMatchObject({ phase: 'Running', message: 'in zone eu' });
});

describe('a chain that is wrong is refused by name', () => {
  const cases: [string, unknown, string][] = [
    ['no object', [null], 'middleware[0]: must be an object with a name and hooks, not null'],
    ['no name', [{ podStatus: () => undefined }], 'middleware[0].name: must be a text that is not empty'],
    [
      'a name twice',
      [
        { name: 'a', podStatus: () => undefined },
        { name: 'a', podStatus: () => undefined },
      ],
      'middleware[1].name: "a" occurs twice; names are unique in a chain',
    ],
    ['no function', [{ name: 'a', mounts: 7 }], 'middleware[0] "a": mounts must be a function'],
    [
      'no hook',
      [{ name: 'a' }],
      'middleware[0] "a": has none of the hooks podAddition, mounts, containerOptions, providerSync, podStatus',
    ],
    [
      'a deadline of 0',
      [{ name: 'a', deadlineMs: 0, podStatus: () => undefined }],
      'middleware[0] "a": deadlineMs: must be greater than 0',
    ],
  ];
  test.each(cases)('%s', (_, chain, message) => {
    expect(() => new World(chain as Middleware[])).toThrow(message);
  });
});
