import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { uidOf } from '../../src/kube/names.ts';
import type { Node, Pod } from '../../src/kube/types.ts';
import { ContainerState } from '../../src/provider/cri-messages.ts';
import { connectCri } from '../../src/providers/cri/index.ts';
import { CriNode, noCriNode, onePod, sleeps } from './cri-node.ts';
import { condition } from './podtender.ts';

const names = (kind: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${index}`);
const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';
const containerOf = (pod: Pod): readonly unknown[] => {
  const [status] = pod.status?.containerStatuses ?? [];
  return [status?.containerID, status?.restartCount];
};

/** containerd is killed while pods come and go, stays away until the node is not Ready any more, and comes back. */
describe.skipIf(noCriNode !== undefined)(
  'a runtime that goes away and comes back',
  { timeout: 240_000 },
  () => {
    let node: CriNode;

    beforeAll(async () => {
      node = await CriNode.start();
    }, 90_000);
    afterAll(() => node.stop(), 90_000);

    const create = (...pods: readonly string[]): Promise<void> =>
      node.create(...pods.map((name) => onePod(name, sleeps)));
    const remove = (...pods: readonly string[]): Promise<string> =>
      node.agent.ok(['delete', 'pod', '--wait=false', ...pods]);
    const allReady = async (pods: readonly string[]): Promise<void> => {
      await Promise.all(pods.map((name) => node.until(name, isReady)));
    };
    const nodeIs = (status: string): Promise<string> =>
      node.agent.ok(['wait', `--for=condition=Ready=${status}`, 'node/e2e', '--timeout=25s']);

    /** `container of uid` of everything that runs, as the runtime says. */
    const running = async (): Promise<readonly string[]> => {
      const runtime = connectCri(node.containerd.socket, { clock: systemClock });
      const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
      const { containers = [] } = await runtime.listContainers({ filter });
      await runtime.close();
      return containers.map(({ labels = {} }) => labels['io.kubernetes.pod.uid'] ?? '').toSorted();
    };

    test('disturbs no pod, and what was asked for meanwhile is done afterwards', async () => {
      const [still, leaving, coming, late] = [
        names('still', 4),
        names('leaving', 4),
        names('coming', 4),
        names('late', 2),
      ];
      await create(...still, ...leaving);
      await allReady([...still, ...leaving]);
      const before = await Promise.all(still.map(async (name) => containerOf(await node.agent.pod(name))));
      const watch = node.agent.watchPods();

      // in the middle of both
      await Promise.all([create(...coming), remove(...leaving.slice(0, 2))]);
      await node.containerd.kill();
      await create(...late);
      await remove(...leaving.slice(2));
      await nodeIs('False').catch(() => nodeIs('False'));
      const { conditions = [] } =
        (JSON.parse(await node.agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node).status ?? {};
      expect(conditions.find(({ type }) => type === 'Ready')?.message).toBe('container runtime is down');

      await node.containerd.start();
      await nodeIs('True');
      await allReady([...coming, ...late]);
      await Promise.all(leaving.map((name) => node.until(name, (_pod, type) => type === 'DELETED')));

      const after = await Promise.all(still.map(async (name) => containerOf(await node.agent.pod(name))));
      expect(after).toEqual(before);
      for (const name of still)
        expect(
          watch.history(name).every(({ object }) => object.status?.phase === 'Running' && isReady(object)),
        ).toBe(true);
      const wanted = await Promise.all([...still, ...coming, ...late].map((name) => node.agent.pod(name)));
      await expect.poll(running, { timeout: 10_000 }).toEqual(wanted.map(uidOf).toSorted());
    });
  },
);
