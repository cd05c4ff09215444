import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { recordOfStatus } from '../../../src/providers/memory/adopted-pod.ts';

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

const pod: Pod = {
  metadata: { uid: 'u', name: 'web', namespace: 'default' },
  spec: {
    initContainers: [{ name: 'init', image: 'i' }],
    containers: [
      { name: 'a', image: 'x' },
      { name: 'b', image: 'y' },
      { name: 'new', image: 'z' },
    ],
  },
  status: {
    phase: 'Running',
    podIP: '10.0.0.9',
    startTime: at(10),
    initContainerStatuses: [
      {
        ...{ name: 'init', image: 'i', imageID: '', ready: true, restartCount: 0, containerID: 'memory://1' },
        state: { terminated: { exitCode: 0, reason: 'Completed', startedAt: at(11), finishedAt: at(12) } },
      },
    ],
    containerStatuses: [
      {
        ...{ name: 'a', image: 'x', imageID: '', ready: true, restartCount: 2, containerID: 'memory://2' },
        state: { running: { startedAt: at(20) } },
      },
      {
        ...{ name: 'b', image: 'y', imageID: '', ready: false, restartCount: 1, containerID: 'memory://3' },
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: {
          terminated: {
            exitCode: 3,
            reason: 'Error',
            startedAt: at(13),
            finishedAt: at(14),
            containerID: 'memory://3',
          },
        },
      },
    ],
  },
};

test('a record continues what the status says: running, ended and restarted containers', () => {
  const record = recordOfStatus(pod, 'memory://9');
  expect(record).toMatchObject({ uid: 'u', ip: '10.0.0.9', sandbox: { id: 'memory://9', ready: true } });
  expect(record?.instances).toMatchObject([
    { name: 'init', exitCode: 0, finishedAt: 12_000 },
    { name: 'a', id: 'memory://2', restartCount: 2, startedAt: 20_000 },
    { name: 'b', id: 'memory://3', restartCount: 1, exitCode: 3, reason: 'Error', finishedAt: 14_000 },
  ]);
  expect(record?.instances[1]?.finishedAt).toBeUndefined();
});

test('a pod that has ended, or never started, has no record', () => {
  expect(recordOfStatus({ ...pod, status: { ...pod.status, phase: 'Succeeded' } }, 's')).toBeUndefined();
  expect(recordOfStatus({ ...pod, status: { phase: 'Pending' } }, 's')).toBeUndefined();
  expect(recordOfStatus({ ...pod, status: { phase: 'Pending', podIP: '10.0.0.1' } }, 's')).toBeUndefined();
});
