import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { Pod, PodStatus } from '../../src/kube/types.ts';
import { ProbeManager } from '../../src/prober/probe-manager.ts';
import { beginAttempt, newWorker } from '../../src/prober/probe-step.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: {
    containers: [
      {
        name: 'c',
        readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 5 },
        livenessProbe: { tcpSocket: { port: 1 } },
      },
    ],
  },
};
const status: PodStatus = {
  phase: 'Running',
  containerStatuses: [
    {
      name: 'c',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      containerID: 'fake://1',
      started: true,
      state: { running: { startedAt: '1970-01-01T00:00:00Z' } },
    },
  ],
};

function world(floatAnswer = 0): { clock: FakeClock; manager: ProbeManager; runs: number[] } {
  const clock = new FakeClock(0);
  const runs: number[] = [];
  const manager = new ProbeManager({
    clock,
    random: { float: () => floatAnswer, uuid: () => '', hex: () => '' },
    statusOf: () => status,
    prober: {
      probe: async () => {
        runs.push(clock.now());
        return 'Success';
      },
    },
  });
  return { clock, manager, runs };
}

test('a pod without probes costs nothing, a probe one timer', async () => {
  const { clock, manager } = world();
  manager.addPod({ metadata: { uid: 'x' }, spec: { containers: [{ name: 'c' }] } });
  expect(clock.pending).toBe(0);
  manager.addPod(pod);
  await clock.advance(0);
  expect(clock.pending).toBe(2);
  expect(manager.workers).toEqual(['u/c/readiness', 'u/c/liveness']);
});

test('a probe runs each period, and right after the start of the agent at a random time', async () => {
  const { clock, manager, runs } = world(0.5);
  manager.addPod(pod);
  await clock.advance(12_500);
  expect(runs).toEqual([2500, 5000, 7500, 12_500]);
});

test('results of a pod that goes are forgotten, and its timers with them', async () => {
  const { clock, manager } = world();
  manager.addPod(pod);
  await clock.advance(1);
  expect(manager.results.readiness.get('fake://1')).toBe('Success');
  manager.stopLivenessAndStartup(pod);
  expect(manager.workers).toEqual(['u/c/readiness']);
  manager.cleanupPods(new Set());
  expect(manager.workers).toEqual([]);
  expect(manager.results.readiness.get('fake://1')).toBeUndefined();
  expect(clock.pending).toBe(0);
});

test('a container is ready when its probe says so', async () => {
  const { clock, manager } = world();
  manager.addPod(pod);
  expect(manager.updatePodStatus(pod, status).status.containerStatuses?.[0]?.ready).toBe(false);
  await clock.advance(1);
  expect(manager.updatePodStatus(pod, status).status.containerStatuses?.[0]?.ready).toBe(true);
});

test('a status asks for the readiness probe of a running container that is not known to be ready, and runs none itself', async () => {
  const { clock, manager, runs } = world(0.5);
  expect(manager.updatePodStatus(pod, status).probeNow, 'without a worker').toEqual([]);
  manager.addPod(pod);
  expect(manager.updatePodStatus(pod, status).probeNow).toEqual(['c']);
  const stopped = { ...status.containerStatuses![0]!, state: { terminated: { exitCode: 0 } } };
  expect(manager.updatePodStatus(pod, { ...status, containerStatuses: [stopped] }).probeNow).toEqual([]);
  await clock.advance(1000);
  expect(runs).toEqual([]);
  manager.probeNow('u', ['c', 'none']);
  await clock.advance(0);
  expect(runs).toEqual([1000]);
  expect(manager.updatePodStatus(pod, status).probeNow, 'once it is ready').toEqual([]);
});

test('probes of a container that will not restart end, but not while all containers of its pod start anew', () => {
  const terminated = { exitCode: 137, startedAt: '', finishedAt: '', reason: 'Error' };
  const killed = { ...status.containerStatuses![0]!, state: { terminated } };
  const asks = {
    name: 'asks',
    restartPolicy: 'Never',
    restartPolicyRules: [
      { action: 'RestartAllContainers', exitCodes: { operator: 'In' as const, values: [42] } },
    ],
  };
  const container = pod.spec!.containers[0]!;
  const ofPod: Pod = { ...pod, spec: { restartPolicy: 'Never', containers: [container, asks] } };
  const target = { type: 'readiness', pod: ofPod, container, probe: container.readinessProbe! } as const;
  const next = (now: PodStatus): string =>
    beginAttempt(target, newWorker, { status: now, now: 0, managerStartedAt: 0 }).next;
  const ended: PodStatus = { phase: 'Running', containerStatuses: [killed] };
  expect(next(ended)).toBe('end');
  expect(next({ ...ended, conditions: [{ type: 'AllContainersRestarting', status: 'True' }] })).toBe('wait');
  const asked = { ...killed, name: 'asks', state: { terminated: { ...terminated, exitCode: 42 } } };
  expect(next({ ...ended, containerStatuses: [killed, asked] })).toBe('wait');
});
