import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { ContainerStatus, Pod } from '../../../src/kube/types.ts';
import type { ServerHost } from '../../../src/server/host.ts';
import { SimulatedProvider } from '../../../src/simulate/simulated-provider.ts';
import { withPlayedPods } from '../../../src/simulate/stages/played-host.ts';

const clock = new FakeClock();
const startedAt = '2026-01-01T00:00:00Z';
const running = { running: { startedAt } };

const podWith = (state: ContainerStatus['state'], restartCount = 0): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: { nodeName: 'n', containers: [{ name: 'app', image: 'x' }] },
  status: {
    phase: 'Running',
    startTime: startedAt,
    podIP: '10.0.0.1',
    containerStatuses: [
      { name: 'app', image: 'x', imageID: '', ready: true, restartCount, ...(state && { state }) },
    ],
  },
});

const pod = podWith(running);
const kubelet: ServerHost = {
  nodeName: 'n',
  pods: () => [],
  podByName: () => undefined,
  podStatus: () => undefined,
  runningPods: () => Promise.resolve([]),
  syncLoopFault: () => undefined,
};

test.each([
  [
    'its status says that it ended',
    podWith({ terminated: { exitCode: 0, startedAt, finishedAt: startedAt } }),
  ],
  ['it was restarted', podWith(running, 1)],
  ['its pod is gone', undefined],
])('an attachment to a container that stages play ends when %s', async (_when, next) => {
  const followers = new Set<(pod?: Pod) => void>();
  const host = withPlayedPods(kubelet, {
    list: () => [pod],
    makeProvider: () => new SimulatedProvider({ clock, node: 'n', podIP: () => '', podOf: () => pod }),
    follow: (_uid, changed) => {
      followers.add(changed);
      return () => followers.delete(changed);
    },
  });
  const ref = { namespace: 'shop', pod: 'web', container: 'app', podUid: 'u', id: '' };
  let isOver = false;
  const attached = host
    .attach?.(ref, { stdout: new PassThrough(), tty: false }, new AbortController().signal)
    .then(() => (isOver = true));
  for (const changed of followers) changed(podWith(running));
  await clock.advance(1000);
  expect(isOver).toBe(false);
  for (const changed of followers) changed(next);
  await attached;
  expect(followers.size).toBe(0);
});
