import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node } from '../../src/kube/types.ts';
import { CriNode, noCriNode, onePod, shell } from './cri-node.ts';
import { condition } from './podtender.ts';

/** A pod that would be root, and writes so to a volume; its container ends when it finds `/v/end`. */
const rootless = (name: string): object =>
  onePod(
    name,
    {
      ...shell('rm -f /v/end; touch /v/by-root; while ! [ -e /v/end ]; do sleep 0.2; done'),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    },
    { hostUsers: false, automountServiceAccountToken: false, volumes: [{ name: 'v', emptyDir: {} }] },
  );

/** Pods with users of their own; what the runtime cannot do, the pod is told. */
describe.skipIf(noCriNode !== undefined)('users of pods', { timeout: 90_000 }, () => {
  let node: CriNode;
  let able = false;
  /** A newer runtime tells of its handlers. */
  let tellsHandlers = false;

  beforeAll(async () => {
    node = await CriNode.start();
    const { status } = JSON.parse(await node.agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node;
    const handler = status?.runtimeHandlers?.find(({ name = '' }) => name === '');
    tellsHandlers = handler !== undefined;
    able = handler?.features?.userNamespaces === true;
  }, 120_000);
  afterAll(() => node.stop(), 60_000);

  const fileOf = (uid = ''): string => join(node.rootDir, 'pods', uid, 'userns');
  const mapIn = async (name: string): Promise<string> => {
    const [inside, first, length] = (await node.agent.ok(['exec', name, '--', 'cat', '/proc/self/uid_map']))
      .trim()
      .split(/\s+/);
    return `${inside} ${first} ${length}`;
  };
  const onDisk = (uid = ''): string => {
    const { uidMappings } = JSON.parse(readFileSync(fileOf(uid), 'utf8')) as {
      readonly uidMappings: readonly { hostId: number; containerId: number; length: number }[];
    };
    return uidMappings
      .map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}`)
      .join('\n');
  };

  test('are none of the host, the same through restarts of container and agent', async ({ skip }) => {
    if (!able) return skip('the runtime knows no user namespaces');
    await node.create(rootless('one'), rootless('two'));
    const isUp = (pod: Parameters<typeof condition>[0]): boolean => condition(pod, 'Ready') === 'True';
    const one = await node.until('one', isUp);
    const two = await node.until('two', isUp);
    const [map, other] = [await mapIn('one'), await mapIn('two')];
    expect(map).toMatch(/^0 [1-9]\d* 65536$/);
    expect(other).not.toBe(map);
    expect([onDisk(one.metadata?.uid), onDisk(two.metadata?.uid)]).toEqual([map, other]);
    const volume = join(node.rootDir, 'pods', one.metadata?.uid ?? '', 'volumes/kubernetes.io~empty-dir/v');
    expect(readdirSync(volume)).toEqual(['by-root']);
    expect(statSync(join(volume, 'by-root')).uid).toBe(0);

    node.agent.child.kill('SIGKILL');
    await node.agent.ended;
    await node.startAgent();
    await node.agent.ok(['exec', 'one', '--', 'touch', '/v/end']);
    await node.until('one', (pod) => isUp(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1);
    expect([await mapIn('one'), await mapIn('two')]).toEqual([map, other]);

    await node.agent.ok(['delete', 'pod', 'one', 'two', '--wait=true', '--timeout=60s']);
    expect([one, two].filter(({ metadata }) => existsSync(fileOf(metadata?.uid)))).toEqual([]);
  });

  test('are asked of the handler that the runtime class names', async () => {
    await node.create({
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'other' },
      handler: 'none',
    });
    await node.create(
      onePod('shared', shell('sleep 1000'), { runtimeClassName: 'other' }),
      onePod('own', shell('sleep 1000'), { runtimeClassName: 'other', hostUsers: false }),
    );
    const [shared = ''] = await node.told('shared', 'FailedCreatePodSandBox');
    expect(shared).toContain('no runtime for "none" is configured');
    const [own = ''] = await node.told('own', 'FailedCreatePodSandBox');
    const unknown = tellsHandlers ? ': the handler "none" is not known' : '';
    expect(own.endsWith(`RuntimeClass handler "none" does not support user namespaces${unknown}`)).toBe(true);
    await node.agent.ok(['delete', 'pod', 'shared', 'own', '--wait=true', '--timeout=60s']);
  });

  test('are refused where the runtime cannot give them', async ({ skip }) => {
    if (able) return skip('the runtime knows user namespaces');
    await node.create(rootless('unable'));
    const [message = ''] = await node.told('unable', 'FailedCreatePodSandBox');
    expect(message).toBe(
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    );
    await node.agent.ok(['delete', 'pod', 'unable', '--wait=true', '--timeout=60s']);
  });
});
