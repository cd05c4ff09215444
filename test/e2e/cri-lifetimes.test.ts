import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ContainerStatus, Pod } from '../../src/kube/types.ts';
import { connectCri } from '../../src/providers/cri/index.ts';
import { busyboxImage } from '../support/images.ts';
import { CriNode, noCriNode, onePod, shell, sleeps } from './cri-node.ts';
import { condition, type PodWatch } from './podtender.ts';

const image = { image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent' };
const other = 'localhost/other:1';
/** A script that goes on until it is asked to end. */
const lasting = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $$!; done';

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
const restartsOf = (pod: Pod): Readonly<Record<string, number>> =>
  Object.fromEntries(statusesOf(pod).map(({ name, restartCount }) => [name, restartCount]));
const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';
const uid = (pod: Pod): string => pod.metadata?.uid ?? '';

/** What a pod goes through on a whole node from its manifest to its end: every test is one pod, all at the same time. */
describe.skipIf(noCriNode !== undefined)('lifetimes of pods', { timeout: 100_000, concurrent: true }, () => {
  let node: CriNode;
  let pods: PodWatch;

  beforeAll(async () => {
    node = await CriNode.start({
      images: [busyboxImage(other, { Cmd: ['/bin/sh'], Env: ['OTHER=1'] })],
      config: { syncFrequency: '10s' },
    });
    pods = node.agent.watchPods();
  }, 60_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  const until = (name: string, fits: (pod: Pod, type: string) => boolean): Promise<Pod> =>
    pods.until(name, fits, 60_000);
  const phasesOf = (name: string): readonly string[] => [
    ...new Set(pods.history(name).map(({ object }) => object.status?.phase ?? '')),
  ];

  describe('of a manifest', { concurrent: true }, () => {
    const file = (name: string): string => join(node.dir, 'manifests', `${name}.yaml`);
    const write = (name: string, container: object, spec: object = {}): void => {
      mkdirSync(join(node.dir, 'manifests'), { recursive: true });
      writeFileSync(file(name), JSON.stringify(onePod(name, container, spec, { namespace: 'default' })));
    };
    const started = async (name: string, container: object = sleeps, spec: object = {}): Promise<Pod> => {
      write(name, container, spec);
      return until(`${name}-e2e`, isReady);
    };

    test.each([
      { how: 'it is deleted', name: 'kept', flags: [] },
      {
        how: 'it is deleted at once, by the next resync',
        name: 'shed',
        flags: ['--force', '--grace-period=0'],
      },
    ])('its mirror is made anew when $how, and the containers run on', async ({ name, flags }) => {
      const first = await started(name);
      await node.agent.ok(['delete', 'pod', `${name}-e2e`, ...flags]);
      const second = await until(`${name}-e2e`, (pod) => uid(pod) !== uid(first) && isReady(pod));
      expect(statusesOf(second)).toEqual(statusesOf(first));
    });

    test('removed and made again at once, it starts its pod anew', async () => {
      const first = await started('again');
      rmSync(file('again'));
      write('again', sleeps);
      const second = await until('again-e2e', (pod) => isReady(pod) && restartsOf(pod)['c'] === 1);
      expect(statusesOf(second)[0]?.containerID).not.toBe(statusesOf(first)[0]?.containerID);
    });

    test('written anew in place, it replaces its pod', async () => {
      const first = await started('changed');
      write('changed', { ...sleeps, image: other });
      const second = await until('changed-e2e', (pod) => uid(pod) !== uid(first) && isReady(pod));
      expect(second.spec?.containers[0]?.image).toBe(other);
      expect(restartsOf(second)).toEqual({ c: 0 });
    });

    test('removed, it leaves its mirror until the containers have ended', async () => {
      await started(
        'leaving',
        shell('trap "sleep 4; exit 0" TERM; while :; do sleep 1000 & wait $$!; done'),
        {
          terminationGracePeriodSeconds: 20,
        },
      );
      const from = Date.now();
      rmSync(file('leaving'));
      await until('leaving-e2e', (_, type) => type === 'DELETED');
      expect(Date.now() - from).toBeGreaterThan(3500);
      expect(Date.now() - from).toBeLessThan(15_000);
      expect(phasesOf('leaving-e2e')).not.toContain('Failed');
    });
  });

  test('a rule starts all containers of a pod anew that would not restart by itself', async () => {
    const marked = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
    const ends = shell(`test -e /v/asked || { touch /v/asked; sleep 3; exit 42; }; ${lasting}`);
    const asks = { restartPolicy: 'Never', restartPolicyRules: rules, ...marked, ...ends };
    await node.create(
      onePod(
        'all-anew',
        {},
        {
          restartPolicy: 'Never',
          volumes: [{ name: 'v', emptyDir: {} }],
          initContainers: [{ name: 'init', ...image, ...shell('exit 0') }],
          containers: [
            { name: 'asks', ...image, ...asks, readinessProbe },
            { name: 'killed', ...image, ...sleeps, readinessProbe },
          ],
        },
      ),
    );
    const pod = await until('all-anew', (one) => isReady(one) && restartsOf(one)['killed'] === 1);
    expect(restartsOf(pod)).toEqual({ init: 1, asks: 1, killed: 1 });
    expect(condition(pod, 'AllContainersRestarting')).toBe('False');
    expect(phasesOf('all-anew')).not.toContain('Failed');
    const restarting = pods
      .history('all-anew')
      .filter(({ object }) => condition(object, 'AllContainersRestarting') === 'True');
    expect(restarting.length).toBeGreaterThan(0);
  });

  test('a pod whose sandbox goes initializes again', async () => {
    await node.create(
      onePod('boxless', sleeps, {
        initContainers: [
          { name: 'init', ...image, ...shell('sleep 1') },
          { name: 'side', ...image, ...sleeps, restartPolicy: 'Always' },
        ],
      }),
    );
    const first = await until('boxless', isReady);
    const runtime = connectCri(node.containerd.socket, { clock: systemClock });
    try {
      const { items } = await runtime.listPodSandbox({
        filter: { labelSelector: { 'io.kubernetes.pod.uid': uid(first) } },
      });
      await runtime.stopPodSandbox({ podSandboxId: items?.[0]?.id ?? '' });
    } finally {
      await runtime.close();
    }
    await until('boxless', (pod) => isReady(pod) && restartsOf(pod)['init'] === 1);
    const again = pods.history('boxless').filter(({ object }) => statusesOf(object)[0]?.state?.running);
    expect(again.some(({ object }) => restartsOf(object)['init'] === 1)).toBe(true);
    expect(again.every(({ object: { status } }) => status?.phase === 'Pending')).toBe(true);
  });

  test('another image restarts a sidecar or a container alone', async () => {
    await node.create(
      onePod('reimaged', sleeps, {
        initContainers: [
          { name: 'init', ...image, ...shell('exit 0') },
          { name: 'side', ...image, ...sleeps, restartPolicy: 'Always' },
        ],
      }),
    );
    await until('reimaged', isReady);
    const set = (name: string): Promise<string> =>
      node.agent.ok(['set', 'image', 'pod/reimaged', `${name}=${other}`]);
    await set('side');
    const first = await until('reimaged', (pod) => isReady(pod) && restartsOf(pod)['side'] === 1);
    expect(restartsOf(first)).toEqual({ init: 0, side: 1, c: 0 });
    await set('c');
    const second = await until('reimaged', (pod) => isReady(pod) && restartsOf(pod)['c'] === 1);
    expect(restartsOf(second)).toEqual({ init: 0, side: 1, c: 1 });
    expect(statusesOf(second).map((status) => status.image)).toEqual([image.image, other, other]);
  });
});
