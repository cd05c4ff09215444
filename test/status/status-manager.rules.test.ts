import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/api/client.ts';
import { settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
} from '../../src/kube/names.ts';
import type { Pod, PodStatus } from '../../src/kube/types.ts';
import type { StatusClient } from '../../src/status/status-client.ts';
import { StatusManager, statusSyncPeriodMs } from '../../src/status/status-manager.ts';
import { statusOf } from './support/statuses.ts';
import { now, podOf, Server, world } from './support/status-server.ts';

const deletionTimestamp = now as never;
const [running, pending] = [{ phase: 'Running' }, { phase: 'Pending' }];
const later = '2000-01-01T00:00:05Z';

const staticPod = podOf({
  uid: 's',
  annotations: { [configSourceAnnotation]: 'file', [configHashAnnotation]: 'h' },
});
const mirrorOf = (uid: string, status?: PodStatus): Pod => ({
  ...podOf({ uid, annotations: { [configSourceAnnotation]: 'api', [configMirrorAnnotation]: 'h' } }),
  ...(status && { status }),
});

describe('what is kept of a pod', () => {
  test('a version for each change, the time of the first one, and whose it is (R186, R187)', () => {
    const { manager, clock, told } = world();
    expect(manager.entry('u')).toBeUndefined();
    expect(manager.setPodStatus(podOf(), running)).toBe(true);
    const first = { version: 1, podName: 'p', podNamespace: 'ns', at: Date.parse(now), podIsFinished: false };
    expect(manager.entry('u')).toEqual({ ...first, status: { ...running, startTime: now } });
    clock.set(Date.parse(later));
    expect(manager.setPodStatus(podOf(), running)).toBe(false);
    expect(manager.setPodStatus(podOf(), { ...running, message: 'm' })).toBe(true);
    expect(manager.entry('u')).toMatchObject({ ...first, version: 2, status: { startTime: now } });
    expect(told).toEqual([
      ['updated', 'u', 'Running', true],
      ['updated', 'u', 'Running', false],
    ]);
  });

  test('a pod that is to go gets a version whenever it is told of (R187)', () => {
    const { manager, told } = world();
    const deleted = podOf({ deletionTimestamp });
    expect(manager.setPodStatus(deleted, running)).toBe(true);
    expect(manager.setPodStatus(deleted, running)).toBe(true);
    expect(manager.entry('u')?.version).toBe(2);
    expect(told).toEqual([
      ['updated', 'u', 'Running', false],
      ['updated', 'u', 'Running', false],
    ]);
  });

  test('the generation that was looked at, which never goes back (R197)', () => {
    const { manager } = world();
    const seen = (): number | undefined => manager.getPodStatus('u')?.observedGeneration;
    manager.setPodStatus(podOf(), { ...running, observedGeneration: 2 });
    expect(seen()).toBeUndefined();
    manager.setPodStatus(podOf({ generation: 3 }), { ...running, message: 'a', observedGeneration: 4 });
    expect(seen()).toBe(3);
    manager.setPodStatus(podOf({ generation: 2 }), { ...running, message: 'b' });
    expect(seen()).toBe(3);
    manager.setPodStatus(podOf(), { ...running, message: 'c' });
    expect(seen()).toBe(3);
    const fresh = world().manager;
    fresh.setPodStatus(podOf({ generation: 0 }), running);
    expect(fresh.getPodStatus('u')).not.toHaveProperty('observedGeneration');
  });

  test('the status before is the one that is kept, else the mirror’s, else the pod’s (R195)', () => {
    const [kept, mirrors, own] = ['2000-01-03T00:00:00Z', '2000-01-02T00:00:00Z', '2000-01-01T12:00:00Z'];
    const startOf = (pod: Pod, ...others: Pod[]): string | undefined => {
      const { manager, pods } = world();
      for (const one of [pod, ...others]) pods.updatePod(one);
      manager.setPodStatus(pod, running);
      return String(manager.getPodStatus('s')?.startTime);
    };
    const given = { ...staticPod, status: { startTime: own } };
    expect(startOf(given, mirrorOf('m', { startTime: mirrors }))).toBe(mirrors);
    expect(startOf(given)).toBe(own);
    expect(startOf(podOf({ uid: 's' }))).toBe(now);
    const { status: _, ...statusless } = podOf({ uid: 's' });
    expect(startOf(statusless)).toBe(now);
    const { manager, pods } = world();
    manager.setPodStatus(staticPod, { startTime: kept });
    pods.updatePod(mirrorOf('m', { startTime: mirrors }));
    manager.setPodStatus({ ...staticPod, status: { startTime: own } }, running);
    expect(manager.getPodStatus('s')?.startTime).toBe(kept);
  });

  test('a status in which a container comes back is not believed, and that is logged (R196)', () => {
    const { manager, logged, told } = world();
    const pod = { ...podOf(), spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'i' }] } };
    const ended = { containerStatuses: [statusOf('a', { terminated: { exitCode: 0 } })] };
    expect(manager.setPodStatus(pod, ended)).toBe(true);
    expect(manager.setPodStatus(pod, { containerStatuses: [statusOf('a', { running: {} })] })).toBe(false);
    expect(manager.entry('u')).toMatchObject({ version: 1, status: ended });
    expect(told).toHaveLength(1);
    expect(logged).toEqual([
      [
        'status update dropped',
        {
          pod: 'ns/p',
          uid: 'u',
          err: 'terminated container a attempted illegal transition to non-terminated state',
        },
      ],
    ]);
    const { spec: _, ...specless } = pod;
    expect(manager.setPodStatus(specless, running)).toBe(true);
  });

  test('a mirror’s UID leads to its static pod (R30)', () => {
    const { manager, pods } = world();
    pods.updatePod(staticPod);
    pods.updatePod(mirrorOf('m'));
    manager.setPodStatus(staticPod, running);
    expect(manager.getPodStatus('m')?.phase).toBe('Running');
    expect(manager.entry('m')).toBeUndefined();
  });

  test('what is finished stays so, but a static pod may begin anew (R199)', () => {
    const { manager, pods, told } = world();
    pods.updatePod(staticPod);
    for (const pod of [podOf(), staticPod]) {
      manager.setPodStatus(pod, running);
      manager.terminatePod(pod);
      manager.setPodStatus(pod, { ...running, message: 'm' });
    }
    expect([manager.entry('u')?.podIsFinished, manager.entry('s')?.podIsFinished]).toEqual([true, false]);
    expect(told.map(([what, uid]) => `${String(what)} ${String(uid)}`)).toEqual([
      'updated u',
      'finished u',
      'finished u',
      'updated s',
      'finished s',
      'updated s',
    ]);
  });

  test('a pod that ends before it was told of ends with what the API knows, each time anew (R204)', () => {
    const { manager } = world();
    manager.terminatePod({ ...podOf(), status: { phase: 'Running', hostIP: '192.0.2.1' } });
    expect(manager.entry('u')).toMatchObject({
      version: 1,
      status: { phase: 'Failed', hostIP: '192.0.2.1' },
    });
    manager.terminatePod(podOf());
    expect(manager.entry('u')?.version).toBe(2);
    const { status: _, ...statusless } = podOf({ uid: 'v' });
    manager.terminatePod(statusless);
    expect(manager.entry('v')?.status.phase).toBe('Failed');
  });

  test('nothing is left of pods that nobody wants (R72)', async () => {
    const { manager, server } = world();
    const report = { reason: 'r', message: 'm', observedGeneration: 1 };
    for (const uid of ['u', 'v']) {
      manager.setPodStatus(podOf({ uid }), running);
      manager.resizes.setPending(uid, report);
    }
    manager.removeOrphanedStatuses(new Set(['v']));
    expect([manager.entry('u'), manager.entry('v')?.version]).toEqual([undefined, 1]);
    expect([manager.resizes.conditions('u').length, manager.resizes.conditions('v').length]).toEqual([0, 1]);
    expect(await manager.syncBatch(false)).toBe(1);
    expect(server.bodies).toEqual([]);
  });
});

describe('a container’s readiness and start', () => {
  const [web, side] = [
    { ...statusOf('a', { running: {} }, {}, false), containerID: 'x://a' },
    { ...statusOf('s', { running: {} }), containerID: 'x://s' },
  ];
  const pod: Pod = {
    ...podOf(),
    spec: {
      containers: [{ name: 'a', image: 'i' }],
      initContainers: [{ name: 's', image: 'i', restartPolicy: 'Always' }],
    },
  };
  const known = (status: PodStatus) => {
    const made = world();
    made.pods.updatePod(pod);
    made.manager.setPodStatus(pod, status);
    return made.manager;
  };
  const both = { phase: 'Running', containerStatuses: [web], initContainerStatuses: [side] };

  test('are written to the container they are of, and the pod is ready when all are (R203)', () => {
    const manager = known(both);
    const conditions = (): unknown[] =>
      (manager.getPodStatus('u')?.conditions ?? []).map(({ type, status, message }) => [
        type,
        status,
        message,
      ]);
    manager.setContainerReadiness('u', 'x://a', true);
    expect(conditions()).toEqual([
      ['Ready', 'False', 'containers with unready status: [s]'],
      ['ContainersReady', 'False', 'containers with unready status: [s]'],
    ]);
    manager.setContainerReadiness('u', 'x://s', true);
    expect(conditions()).toEqual([
      ['Ready', 'True', undefined],
      ['ContainersReady', 'True', undefined],
    ]);
    manager.setContainerStartup('u', 'x://s', true);
    expect(manager.entry('u')).toMatchObject({
      version: 4,
      podIsFinished: false,
      status: {
        containerStatuses: [{ ...web, ready: true }],
        initContainerStatuses: [{ ...side, ready: true, started: true }],
      },
    });
  });

  test('are written when they changed, and of what is known (R203)', () => {
    const manager = known(both);
    manager.setContainerReadiness('u', 'x://a', false);
    manager.setContainerStartup('u', 'x://a', false);
    for (const [uid, id] of [
      ['u', 'x://gone'],
      ['another', 'x://a'],
    ] as const) {
      manager.setContainerReadiness(uid, id, true);
      manager.setContainerStartup(uid, id, true);
    }
    expect(manager.entry('u')?.version).toBe(1);
    const nobody = world().manager;
    nobody.setContainerReadiness('u', 'x://a', true);
    expect(nobody.entry('u')).toBeUndefined();
  });

  test('leave a list alone that is not there (R203)', () => {
    const alone = known({ phase: 'Running', containerStatuses: [web] });
    alone.setContainerStartup('u', 'x://a', true);
    expect(alone.getPodStatus('u')).not.toHaveProperty('initContainerStatuses');
    const init = known({ phase: 'Running', initContainerStatuses: [side] });
    init.setContainerStartup('u', 'x://s', true);
    expect(init.getPodStatus('u')).not.toHaveProperty('containerStatuses');
  });

  test('of a pod that nobody wants any more are not written (R203)', () => {
    const { manager, pods } = world();
    manager.setPodStatus(pod, both);
    pods.removePod(pod);
    manager.setContainerReadiness('u', 'x://a', true);
    expect(manager.entry('u')?.version).toBe(1);
  });
});

describe('telling the API server', () => {
  test('what is newer is told once it is signalled (R189)', async () => {
    const { manager, server, told } = world();
    expect([manager.signalled, await manager.wake()]).toEqual([false, 0]);
    manager.setPodStatus(podOf(), running);
    expect(manager.signalled).toBe(true);
    expect(await manager.wake()).toBe(1);
    expect(manager.signalled).toBe(false);
    expect(server.pod?.status).toMatchObject(running);
    expect([...manager.sentVersions]).toEqual([['u', 1]]);
    expect(told.at(-1)).toEqual(['sent', 'u', 'Running']);
    expect(await manager.syncBatch(false)).toBe(0);
  });

  test('a status that the server has already costs no request (R191)', async () => {
    const { manager, server, told } = world();
    server.pod = { ...podOf(), status: { ...running, startTime: now } };
    manager.setPodStatus(server.pod, running);
    expect(await manager.wake()).toBe(1);
    expect(server.bodies).toEqual([]);
    expect(told.map(([what]) => what)).toEqual(['updated']);
    expect([...manager.sentVersions]).toEqual([['u', 1]]);
  });

  test('a failed send is logged and retried; one for a deleted pod is logged at debug level only (R191)', async () => {
    const { manager, server, logged } = world();
    manager.setPodStatus(podOf(), running);
    server.failures = 1;
    expect(await manager.wake()).toBe(1);
    expect(logged).toEqual([['status could not be sent', { pod: 'ns/p', uid: 'u', err: 'not now' }]]);
    expect(manager.sentVersions.size).toBe(0);
    const pod = server.pod;
    server.pod = undefined;
    expect(await manager.syncBatch(false)).toBe(1);
    expect(logged).toHaveLength(1);
    expect(manager.sentVersions.size).toBe(0);
    server.pod = pod;
    expect(await manager.syncBatch(false)).toBe(1);
    expect([...manager.sentVersions]).toEqual([['u', 1]]);
  });

  test('a pod of the same name but another UID is not told, and ours is forgotten (R191)', async () => {
    const { manager, server, told } = world();
    manager.setPodStatus(podOf(), running);
    server.pod = podOf({ uid: 'other' });
    await manager.wake();
    expect(server.bodies).toEqual([]);
    expect(manager.entry('u')).toBeUndefined();
    expect(told.at(-1)).toEqual(['deleted', 'u']);
    expect(await manager.syncBatch(true)).toBe(0);
  });

  test('an end is withheld while a container of the pod could run (R201)', async () => {
    let runs = true;
    const asked: unknown[] = [];
    const { manager, server } = world({
      deletionSafety: {
        podCouldHaveRunningContainers: (pod) => {
          asked.push(pod.metadata?.uid);
          return runs;
        },
      },
    });
    manager.setPodStatus(podOf(), { phase: 'Failed' });
    await manager.wake();
    expect(server.pod?.status?.phase).toBe('Pending');
    await manager.syncBatch(true);
    expect(server.pod?.status?.phase).toBe('Pending');
    runs = false;
    await manager.syncBatch(true);
    expect(server.pod?.status?.phase).toBe('Failed');
    expect(new Set(asked)).toEqual(new Set(['u']));
  });

  test('at the tick everything is compared: what drifted in our fields is told again, what others wrote is not (R189, R190)', async () => {
    const { manager, server, pods } = world();
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    const show = (status: PodStatus): void => {
      server.pod = { ...podOf(), status };
      pods.updatePod(server.pod);
    };
    show({ ...running, startTime: now });
    expect(await manager.syncBatch(true)).toBe(0);
    show({ ...running, startTime: now, conditions: [{ type: 'x', status: 'True' }] });
    expect(await manager.syncBatch(true)).toBe(0);
    show(pending);
    expect(await manager.syncBatch(false)).toBe(0);
    expect(await manager.syncBatch(true)).toBe(1);
    expect(server.pod?.status).toMatchObject(running);
    pods.removePod(podOf());
    expect(await manager.syncBatch(true)).toBe(0);
  });

  test('a drift that could not be sent is retried without waiting for a tick (R190)', async () => {
    const { manager, server, pods } = world();
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    pods.updatePod({ ...podOf(), status: pending });
    server.failures = 1;
    expect(await manager.syncBatch(true)).toBe(1);
    expect([manager.sentVersions.size, await manager.syncBatch(false)]).toEqual([0, 1]);
  });

  test('what is new is told without a look at what drifted (R189)', async () => {
    const { manager, pods } = world();
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    pods.updatePod({ ...podOf(), status: pending });
    manager.setPodStatus(podOf({ uid: 'v' }), running);
    expect(await manager.wake()).toBe(1);
  });

  test('at the tick also what the API shows already is told, until it was told once in each version (R189)', async () => {
    const { manager, pods, server } = world();
    const shown = { ...podOf({ deletionTimestamp }), status: { ...running, startTime: now } };
    Object.assign(server, { pod: shown });
    pods.updatePod(shown);
    for (const version of [1, 2]) {
      manager.setPodStatus(shown, running);
      expect([await manager.syncBatch(true), await manager.syncBatch(true)]).toEqual([1, 0]);
      expect(manager.sentVersions.get('u')).toBe(version);
    }
  });

  test.for([undefined, {}])('nobody needs to listen: %j', async (listener) => {
    const { clock, server, pods } = world();
    const manager = new StatusManager({
      clock,
      logger: silentLogger,
      pods,
      deletionSafety: { podCouldHaveRunningContainers: () => false },
      client: server,
      ...(listener && { listener }),
    });
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    const deleted = podOf({ deletionTimestamp });
    server.pod = deleted;
    manager.terminatePod(deleted);
    await manager.wake();
    expect(server.pod).toBeUndefined();
  });

  test('a pod without a status shows none (R190)', async () => {
    const { manager, pods, server } = world();
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    const { status: _, ...statusless } = podOf();
    pods.updatePod(statusless);
    server.pod = statusless;
    expect(await manager.syncBatch(true)).toBe(1);
    expect(server.pod.status).toMatchObject(running);
  });

  test('a static pod is told through its mirror, and told anew to another one (R194)', async () => {
    const { manager, server, pods } = world();
    pods.updatePod(staticPod);
    manager.setPodStatus(staticPod, running);
    expect([await manager.wake(), await manager.syncBatch(true)]).toEqual([0, 0]);
    for (const uid of ['m', 'n']) {
      server.pod = mirrorOf(uid, pending);
      pods.updatePod(server.pod);
      expect(await manager.syncBatch(false)).toBe(1);
      expect(server.bodies.at(-1)).toContain(`"uid":"${uid}"`);
      expect(server.pod.status).toMatchObject(running);
      expect(await manager.syncBatch(false)).toBe(0);
      pods.updatePod({ ...server.pod, status: { ...running, startTime: now } });
      expect(await manager.syncBatch(true)).toBe(0);
      pods.updatePod(mirrorOf(uid, pending));
      expect(await manager.syncBatch(true)).toBe(1);
      pods.removePod(mirrorOf(uid));
    }
  });

  test('a static pod that nobody knows any more counts as told nothing, as long as its status is kept (R189, R194)', async () => {
    const { manager, server, pods } = world();
    pods.updatePod(staticPod);
    server.pod = mirrorOf('m', pending);
    pods.updatePod(server.pod);
    manager.setPodStatus(staticPod, running);
    expect([await manager.wake(), await manager.syncBatch(false)]).toEqual([1, 0]);
    pods.removePod(staticPod);
    pods.removePod(mirrorOf('m'));
    expect(await manager.syncBatch(false)).toBe(1);
    expect(manager.entry('s')).toBeUndefined();
  });

  test('versions that were told of pods without a status are forgotten at the tick, but for mirrors (R189)', async () => {
    const { manager, server, pods } = world();
    pods.updatePod(staticPod);
    for (const [pod, api] of [
      [podOf(), podOf()],
      [staticPod, mirrorOf('m')],
    ] as const) {
      manager.setPodStatus(pod, running);
      server.pod = api;
      pods.updatePod(api);
      await manager.wake();
    }
    expect([...manager.sentVersions.keys()]).toEqual(['u', 'm']);
    manager.removeOrphanedStatuses(new Set(['s']));
    await manager.syncBatch(false);
    expect([...manager.sentVersions.keys()]).toEqual(['u', 'm']);
    await manager.syncBatch(true);
    expect([...manager.sentVersions.keys()]).toEqual(['m']);
  });
});

test.for<[says: string, api: Pod, finished: boolean, deleted: boolean]>([
  ['is to go and has ended', podOf({ deletionTimestamp }), true, true],
  ['is not to go', podOf(), true, false],
  ['could run again', podOf({ deletionTimestamp }), false, false],
  ['is a mirror', podOf({ deletionTimestamp, annotations: { [configMirrorAnnotation]: 'h' } }), true, false],
])(
  'a pod that %s is deleted, or not, once its end was told (R192, R193)',
  async ([, api, finished, deleted]) => {
    const { manager, server, told } = world();
    Object.assign(server, { pod: api });
    if (finished) manager.terminatePod(api);
    else manager.setPodStatus(api, { phase: 'Failed' });
    await manager.wake();
    expect(server.bodies.at(-1)).toContain('"phase":"Failed"');
    expect(server.pod === undefined).toBe(deleted);
    expect(manager.entry('u') === undefined).toBe(deleted);
    expect(told.at(-1)).toEqual(deleted ? ['deleted', 'u'] : ['sent', 'u', 'Failed']);
  },
);

test('a pod whose end the server has not got is not deleted, though it is finished (R193)', async () => {
  const { manager, server } = world({ deletionSafety: { podCouldHaveRunningContainers: () => true } });
  server.pod = podOf({ deletionTimestamp });
  manager.terminatePod(server.pod);
  await manager.wake();
  expect(server.pod.status?.phase).toBe('Pending');
});

test('a pod that becomes free to go is deleted at the tick, though nothing is new (R189, R192)', async () => {
  const { manager, server, pods } = world();
  manager.terminatePod(podOf());
  await manager.wake();
  expect(await manager.syncBatch(true)).toBe(1);
  pods.updatePod({ ...podOf(), ...server.pod });
  expect(await manager.syncBatch(true)).toBe(0);
  server.pod = { ...podOf({ deletionTimestamp }), status: server.pod?.status ?? {} };
  pods.updatePod(server.pod);
  expect(await manager.syncBatch(false)).toBe(0);
  expect(await manager.syncBatch(true)).toBe(1);
  expect(server.pod).toBeUndefined();
});

describe('many pods', () => {
  /** Answers when told to; notes who is being asked for. */
  class Slow implements StatusClient {
    readonly asked: string[] = [];
    readonly #waiting: (() => void)[] = [];

    async getPod(_namespace: string, name: string): Promise<Pod> {
      this.asked.push(name);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      throw new ApiError(404, { reason: 'NotFound' });
    }

    answer(): Promise<void> {
      this.#waiting.shift()?.();
      return settle();
    }

    patchStatus(): never {
      throw new Error('not reached');
    }

    deletePod(): never {
      throw new Error('not reached');
    }
  }

  test.for([
    [undefined, 1],
    [1, 1],
    [2, 2],
    [9, 3],
  ] as const)(
    'are told of %s at a time: %i requests go out, then one for each answer',
    async ([parallel, most]) => {
      const client = new Slow();
      const { manager } = world({ client, ...(parallel !== undefined && { parallel }) });
      for (const uid of ['a', 'b', 'c']) manager.setPodStatus(podOf({ uid, name: uid }), running);
      const done = manager.wake();
      await settle();
      expect(client.asked).toEqual(['a', 'b', 'c'].slice(0, most));
      for (let i = 1; i <= 3; i++) {
        await client.answer();
        expect(client.asked).toHaveLength(Math.min(3, most + i));
      }
      expect(await done).toBe(3);
    },
  );
});

describe('run', () => {
  test('waits without a timer too many, wakes for what is new and for each tick, and leaves nothing behind', async () => {
    const { manager, clock, server, pods } = world();
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    await settle();
    expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([1, 1]);
    for (const phase of ['Running', 'Succeeded']) {
      manager.setPodStatus(podOf(), { phase });
      await clock.advance(1);
      expect(server.pod?.status?.phase).toBe(phase);
      expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([1, 1]);
    }
    const drift = (): void => {
      server.pod = { ...podOf(), status: pending };
      pods.updatePod(server.pod);
    };
    drift();
    await clock.advance(statusSyncPeriodMs - 3);
    expect(server.pod?.status?.phase).toBe('Pending');
    await clock.advance(1);
    expect(server.pod?.status?.phase).toBe('Succeeded');
    drift();
    await clock.advance(statusSyncPeriodMs - 1);
    expect(server.pod?.status?.phase).toBe('Pending');
    await clock.advance(1);
    expect(server.pod?.status?.phase).toBe('Succeeded');
    abort.abort();
    await done;
    expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([0, 0]);
    manager.setPodStatus(podOf(), running);
    await clock.advance(statusSyncPeriodMs);
    expect(server.pod?.status?.phase).toBe('Succeeded');
  });

  test('waits for more news where it is told to, and tells the newest alone', async () => {
    const { manager, clock, server, told } = world({
      settle: (signal) => clock.sleep(5, signal).catch(() => undefined),
    });
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    manager.setPodStatus(podOf(), { ...pending, message: 'soon' });
    await clock.advance(4);
    manager.setPodStatus(podOf(), running);
    expect(told.filter(([what]) => what === 'sent')).toEqual([]);
    await clock.advance(1);
    expect(told.filter(([what]) => what === 'sent')).toEqual([['sent', 'u', 'Running']]);
    expect(server.pod?.status?.phase).toBe('Running');
    manager.setPodStatus(podOf(), { ...running, message: 'm' });
    await settle();
    abort.abort();
    await done;
    expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([0, 0]);
  });

  test('compares everything for the first time when the first period is over', async () => {
    const { manager, clock, server, pods } = world();
    manager.setPodStatus(podOf(), running);
    await manager.wake();
    server.pod = { ...podOf(), status: pending };
    pods.updatePod(server.pod);
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    await clock.advance(statusSyncPeriodMs - 1);
    expect(server.pod.status?.phase).toBe('Pending');
    await clock.advance(1);
    expect(server.pod.status?.phase).toBe('Running');
    abort.abort();
    await done;
  });

  test.each([
    { what: 'a pod that the server does not yet know for this node’s is asked for again soon', known: true },
    { what: 'of a pod that is gone only with what else is new', known: false },
  ])('$what', async ({ known }) => {
    const asked: number[] = [];
    const server = new (class extends Server {
      override async getPod(): Promise<Pod> {
        asked.push(clock.now() - Date.parse(now));
        if (asked.length < 4)
          throw new ApiError(403, { message: 'no relationship found between node and this object' });
        return super.getPod();
      }
    })();
    const { manager, clock, pods, logged } = world({ client: server });
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    manager.setPodStatus(podOf(), running);
    if (!known) pods.removePod(podOf());
    await clock.advance(9);
    expect(asked).toEqual([0]);
    await clock.advance(statusSyncPeriodMs - 10);
    expect(asked).toEqual(known ? [0, 10, 30, 70] : [0]);
    expect(server.pod?.status?.phase).toBe(known ? 'Running' : 'Pending');
    expect(logged.map(([message]) => message)).toEqual(
      known ? Array(3).fill('status could not be sent yet') : ['status of a deleted pod refused'],
    );
    abort.abort();
    await done;
    expect(clock.pending).toBe(0);
  });

  test('asks for a pod that stays unknown a few times only', async () => {
    let asked = 0;
    const server = new (class extends Server {
      override getPod(): Promise<Pod> {
        asked++;
        return Promise.reject(new ApiError(403, { message: 'no relationship found' }));
      }
    })();
    const { manager, clock, logged } = world({ client: server });
    const abort = new AbortController();
    const done = manager.run(abort.signal);
    manager.setPodStatus(podOf(), running);
    await clock.advance(statusSyncPeriodMs - 1);
    expect(asked).toBe(8);
    expect(logged.at(-1)?.[0]).toBe('status could not be sent');
    await clock.advance(statusSyncPeriodMs);
    expect(asked).toBe(9);
    abort.abort();
    await done;
  });

  test('is over at once when it is aborted before it began', async () => {
    const { manager, clock } = world();
    await manager.run(AbortSignal.abort());
    expect(clock.pending).toBe(0);
  });
});

test('how long news has waited is told once the API server has it; what comes then waits anew', async () => {
  const waits: number[] = [];
  const { manager, clock } = world({ listener: { changeSent: (ms) => waits.push(ms) } });
  manager.setPodStatus(podOf(), pending);
  await clock.advance(2000);
  manager.setPodStatus(podOf(), running);
  await clock.advance(1000);
  await manager.wake();
  await clock.advance(5000);
  manager.setPodStatus(podOf(), { ...running, message: 'm' });
  await clock.advance(40);
  await manager.wake();
  expect(waits).toEqual([3000, 40]);
});
