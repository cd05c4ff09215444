import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { CriNode, noCriNode, onePod, sleeps } from './cri-node.ts';
import { condition } from './podtender.ts';

const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';

/** The runtime or the agent goes away and comes back: what ran, runs on. */
describe.skipIf(noCriNode !== undefined)('a node whose parts fail', { timeout: 120_000 }, () => {
  let node: CriNode;
  const names = (prefix: string): readonly string[] => [1, 2, 3, 4, 5].map((number) => `${prefix}-${number}`);
  const token = {
    projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] },
  };
  const pod = (name: string): object =>
    onePod(
      name,
      { ...sleeps, volumeMounts: [{ name: 't', mountPath: '/t' }] },
      { volumes: [{ name: 't', ...token }] },
    );

  beforeAll(async () => {
    node = await CriNode.start({ config: { syncFrequency: '2s' }, args: ['--leave-running'] });
  }, 60_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  /** The container of each pod, and how often it was started. */
  const containers = async (prefix: string): Promise<readonly string[]> =>
    Promise.all(
      names(prefix).map(async (name) => {
        const { status } = await node.agent.pod(name);
        const [c] = status?.containerStatuses ?? [];
        return `${name} ${c?.containerID ?? ''} ${c?.restartCount ?? -1}`;
      }),
    );
  const allReady = (prefix: string): Promise<unknown> =>
    Promise.all(names(prefix).map((name) => node.until(name, isReady)));

  test('containerd killed and restarted under load: no container is lost or doubled, all pods come', async () => {
    await node.create(...names('before').map(pod));
    await allReady('before');
    const before = await containers('before');
    await node.create(...names('during').map(pod));
    await node.until('during-1', ({ status }) => status?.phase !== undefined);
    await node.containerd.kill();
    await node.agent.ok(['wait', '--for=condition=Ready=False', 'node/e2e', '--timeout=60s']);
    await node.create(...names('after').map(pod));
    await node.containerd.start();
    await node.agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=60s']);
    await Promise.all([allReady('during'), allReady('after')]);
    expect(await containers('before')).toEqual(before);
    const running = node.containerd.containers();
    expect(running.sort()).toEqual(['before', 'during', 'after'].flatMap(names).sort());
  });

  test('an agent that ends and starts again keeps all containers, and their tokens are renewed', async () => {
    const before = await containers('before');
    const tokenOf = (): Promise<string> => node.agent.ok(['exec', 'before-1', '--', 'cat', '/t/token']);
    const held = await tokenOf();
    await node.restartAgent();
    await node.agent.ok(['wait', '--for=condition=Ready', 'pod/before-1', '--timeout=30s']);
    const watch = async (): Promise<string> =>
      node.agent.ok([
        'exec',
        'before-1',
        '--',
        'sh',
        '-c',
        `while test "$(cat /t/token)" = "${held}"; do sleep 1; done; cat /t/token`,
      ]);
    expect(await watch()).not.toBe(held);
    expect(await containers('before')).toEqual(before);
  });
});
