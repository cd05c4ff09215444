import { expect, test } from 'vitest';
import { podUsage } from '../../../src/containers/kuberuntime/usage.ts';

const attributes = (id: string, attempt: number): object => ({
  id,
  metadata: { name: 'c', attempt },
  labels: {
    'io.kubernetes.pod.uid': 'u',
    'io.kubernetes.pod.name': 'p',
    'io.kubernetes.pod.namespace': 'ns',
    'io.kubernetes.container.name': 'c',
  },
});
const layer = { usedBytes: { value: 4096 } };

test('only the current run of a restarted container is reported', async () => {
  const running = {
    attributes: attributes('new', 1),
    cpu: { timestamp: 5e6, usageCoreNanoSeconds: { value: 7 } },
    swap: { swapUsageBytes: { value: 3 }, swapAvailableBytes: { value: 9 } },
    writableLayer: layer,
  };
  const ended = { attributes: attributes('old', 0), writableLayer: layer };
  const listContainerStats = (): Promise<object> => Promise.resolve({ stats: [running, ended] });
  expect(await podUsage({ listContainerStats }, 'test')).toEqual([
    {
      uid: 'u',
      name: 'p',
      namespace: 'ns',
      containers: [
        {
          id: 'test://new',
          name: 'c',
          at: 5,
          cpuNanos: 7,
          swapBytes: 3,
          swapAvailableBytes: 9,
          rootfsBytes: 4096,
        },
      ],
    },
  ]);
});

test('a runtime that tells nothing of swap has its containers use none', async () => {
  const stats = [{ attributes: attributes('c', 0), cpu: { usageCoreNanoSeconds: { value: 7 } } }];
  const listContainerStats = (): Promise<object> => Promise.resolve({ stats });
  const [pod] = await podUsage({ listContainerStats }, 'test');
  expect(pod?.containers[0]).toMatchObject({ swapBytes: 0, swapAvailableBytes: 0 });
});
