import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Pod } from '../../src/kube/types.ts';
import { connectCri, type CriRuntime } from '../../src/providers/cri/index.ts';
import { CriNode, noCriNode, onePod, shell, sleeps } from './cri-node.ts';
import { condition, type PodWatch, states } from './podtender.ts';

const image = { image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent' };
const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';
const init = (name: string): object => ({ name, ...image, ...shell('exit 0') });
const sidecar = (more: object = {}): object => ({
  name: 'side',
  ...image,
  ...sleeps,
  restartPolicy: 'Always',
  ...more,
});
const probe = { exec: { command: ['true'] }, periodSeconds: 1 };

const ofContainers = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;
/** A manifest's pod may be looked at before its mirror is known, which holds the conditions' times. */
const kindsOf = (name: string): readonly ((typeof ofContainers)[number] | 'conditions')[] =>
  name.endsWith('-e2e') ? ofContainers : [...ofContainers, 'conditions'];

/** What happens to a node while its agent is away: the agent is started once more, and finds all of it at one time. */
describe.skipIf(noCriNode !== undefined)('a node whose agent was away', { timeout: 60_000 }, () => {
  let node: CriNode;
  let pods: PodWatch;
  const before = new Map<string, Pod>();
  const manifest = (name: string): string => join(node.dir, 'manifests', `${name}.yaml`);
  const running = {
    plain: onePod('plain', sleeps),
    probed: onePod(
      'probed',
      { ...sleeps, startupProbe: probe, readinessProbe: probe },
      { initContainers: [sidecar({ startupProbe: probe, readinessProbe: probe })] },
    ),
    debugged: onePod('debugged', sleeps),
    swept: onePod('swept', sleeps, { initContainers: [init('first'), init('second')] }),
    rebooted: onePod('rebooted', sleeps, { initContainers: [init('first'), sidecar(), init('second')] }),
    once: onePod('once', sleeps, { restartPolicy: 'Never' }),
  };
  const names = [...Object.keys(running), 'kept-e2e', 'left-e2e'];

  beforeAll(async () => {
    node = await CriNode.start({ args: ['--leave-running'] });
    for (const name of ['kept', 'left'])
      writeFileSync(manifest(name), JSON.stringify(onePod(name, sleeps, {}, { namespace: 'default' })));
    await node.create(...Object.values(running));
    for (const name of names) await node.until(name, isReady);
    await node.agent.ok([
      'debug',
      'debugged',
      '--image=localhost/busybox:1',
      '-c',
      'dbg',
      '--',
      'sleep',
      '1000',
    ]);
    await node.until(
      'debugged',
      ({ status }) => status?.ephemeralContainerStatuses?.[0]?.state?.running !== undefined,
    );
    // what began less than 10 s before the agent counts as begun by it
    await node.create(onePod('wait', shell('sleep 11'), { restartPolicy: 'Never' }));
    await node.until('wait', ({ status }) => status?.phase === 'Succeeded');
    for (const name of names) before.set(name, await node.agent.pod(name));
    await node.restartAgent(async () => {
      rmSync(manifest('left'));
      const runtime = connectCri(node.containerd.socket, { clock: systemClock });
      for (const name of ['rebooted', 'once']) await stopSandbox(runtime, before.get(name));
      for (const { containerID = '' } of before.get('swept')?.status?.initContainerStatuses ?? [])
        await runtime.removeContainer({ containerId: containerID.split('//')[1] ?? '' });
      await runtime.close();
    });
    pods = node.agent.watchPods();
  }, 120_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  test('a pod whose sandbox ended initializes again, in order', async () => {
    const restarts = ({ status }: Pod): readonly number[] =>
      [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
        (one) => one.restartCount,
      );
    await pods.until('rebooted', (pod) => isReady(pod) && restarts(pod).every((count) => count === 1));
    const counts = pods.history('rebooted').map(({ object }) => restarts(object).join());
    expect([...new Set(counts)]).toEqual(['0,0,0,0', '1,0,0,0', '1,1,0,0', '1,1,1,0', '1,1,1,1']);
  });

  test('one that never restarts has failed', async () => {
    const { status } = await pods.until('once', (pod) => pod.status?.phase === 'Failed');
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  });

  test('a manifest that went takes its pod with it', async () => {
    await pods.until('left-e2e', (_, type) => type === 'DELETED');
    await expect.poll(() => node.containerd.containers(), { timeout: 20_000 }).not.toContain('left');
  });

  test.for(['plain', 'probed', 'debugged', 'swept', 'kept-e2e'])(
    '%s: nothing of it changed',
    async (name) => {
      const { metadata, status } = await node.agent.pod(name);
      const { metadata: metadataBefore, status: statusBefore } = before.get(name) ?? {};
      expect(metadata?.uid).toBe(metadataBefore?.uid);
      for (const kind of kindsOf(name)) expect(status?.[kind]).toEqual(statusBefore?.[kind]);
      expect(states(pods.history(name))).toHaveLength(1);
    },
  );
});

async function stopSandbox(runtime: CriRuntime, pod: Pod | undefined): Promise<void> {
  const labelSelector = { 'io.kubernetes.pod.uid': pod?.metadata?.uid ?? '' };
  const { items = [] } = await runtime.listPodSandbox({ filter: { labelSelector } });
  for (const { id = '' } of items) await runtime.stopPodSandbox({ podSandboxId: id });
}
