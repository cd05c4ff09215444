import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CgroupConfig, cgroupConfigOf } from '../../src/containers/cm/settings.ts';
import { kernelCgroupFiles } from '../../src/containers/cm/files.ts';
import { detectCgroups } from '../../src/containers/cm/host.ts';
import type { Pod } from '../../src/kube/types.ts';
import {
  type Containerd,
  removeEmptyCgroups,
  skipWithoutContainerd,
  startContainerd,
} from '../support/containerd.ts';
import { noKubectl } from './kubectl.ts';
import { condition, makeDir, Podtender, type PodWatch } from './podtender.ts';

const cgroupRoot = 'pt-resize';

interface Amounts {
  readonly cpu: string;
  readonly memory: string;
}

const same = (amounts: Amounts): object => ({ requests: amounts, limits: amounts });

const podOf = (name: string, script: string, amounts: Amounts, ready?: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'c',
          image: 'localhost/busybox:1',
          imagePullPolicy: 'IfNotPresent',
          command: ['/bin/sh', '-c', script],
          resources: same(amounts),
          volumeMounts: [{ name: 'm', mountPath: '/m' }],
          ...(ready !== undefined && {
            readinessProbe: { exec: { command: ['/bin/sh', '-c', ready] }, periodSeconds: 1 },
          }),
        },
      ],
      volumes: [{ name: 'm', emptyDir: { medium: 'Memory' } }],
    },
  });

/** CPU and memory of the pod's cgroup and of its container's, as the kernel has them. */
function cgroupsOf({ metadata, status }: Pod): {
  readonly pod: CgroupConfig;
  readonly container: CgroupConfig;
} {
  const host = detectCgroups(kernelCgroupFiles);
  if (!host) throw new Error('no cgroups');
  const id = status?.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '';
  const below = `${cgroupRoot}/kubepods/pod${metadata?.uid ?? ''}`;
  const at = (path: string): CgroupConfig =>
    cgroupConfigOf((controller, file) => {
      const tree = host.hierarchies.find(({ controllers }) => controllers.includes(controller));
      return tree && kernelCgroupFiles.read(join(tree.mount, path, file));
    }, host.version);
  return { pod: at(below), container: at(`${below}/${id}`) };
}

const mebi = 2 ** 20;
const limits = (cpuMilli: number, memory: number): CgroupConfig => ({
  cpuQuota: cpuMilli * 100,
  cpuPeriod: 100_000,
  memory: memory * mebi,
});

const resourcesText = ({ status }: Pod): string =>
  JSON.stringify(status?.containerStatuses?.[0]?.resources ?? {});
const isRunning = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';

// Real containers, real processes, and a kill in between.
describe.skipIf(noKubectl !== undefined || skipWithoutContainerd())(
  'in-place resize of real containers',
  () => {
    const dir = makeDir('pt-resize-');
    const config = join(dir.path, 'kubelet.json');
    let containerd: Containerd;
    let running: Podtender;
    let watch: PodWatch;

    const start = async (): Promise<void> => {
      const args = ['--provider', 'cri', '--config', config, '--leave-running'];
      const manifests = join(dir.path, 'none');
      mkdirSync(manifests, { recursive: true });
      running = await Podtender.up({ dataDir: join(dir.path, 'data'), manifests, args });
      watch = running.watchPods();
    };

    beforeAll(async () => {
      const binaries = process.env['CONTAINERD'];
      containerd = await startContainerd(binaries === undefined ? {} : { binaries });
      writeFileSync(
        config,
        JSON.stringify({
          apiVersion: 'kubelet.config.k8s.io/v1beta1',
          kind: 'KubeletConfiguration',
          containerRuntimeEndpoint: `unix://${containerd.socket}`,
          cgroupRoot: `/${cgroupRoot}`,
          podLogsDir: join(dir.path, 'pods'),
        }),
      );
      await start();
    }, 60_000);

    afterAll(async () => {
      await running.ok(['delete', 'pods', '--all', '--now']).catch(() => '');
      await running.end();
      await containerd.stop();
      removeEmptyCgroups(cgroupRoot);
      dir.remove();
    }, 60_000);

    const patch = (name: string, amounts: Amounts): Promise<string> =>
      running.ok([
        'patch',
        'pod',
        name,
        '--subresource=resize',
        '-p',
        JSON.stringify({ spec: { containers: [{ name: 'c', resources: same(amounts) }] } }),
      ]);

    const eventsOf = async (name: string): Promise<readonly string[]> =>
      (await running.events())
        .filter(
          ({ involvedObject, reason = '' }) => involvedObject.name === name && reason.startsWith('Resize'),
        )
        .map(({ reason = '' }) => reason);

    test('a running container gets more CPU and memory, and less again, without a restart', async () => {
      await running.ok(['apply', '-f', '-'], podOf('grows', 'sleep 1000', { cpu: '50m', memory: '64Mi' }));
      const before = await watch.until('grows', isRunning);
      expect(cgroupsOf(before)).toMatchObject({ pod: limits(50, 64), container: limits(50, 64) });
      const id = before.status?.containerStatuses?.[0]?.containerID;
      for (const [cpu, memory] of [
        [150, 128],
        [100, 32],
      ] as const) {
        const amounts = { cpu: `${cpu}m`, memory: `${memory}Mi` };
        await patch('grows', amounts);
        const { metadata } = await running.pod('grows');
        const after = await watch.until(
          'grows',
          (pod) =>
            pod.status?.observedGeneration === metadata?.generation &&
            condition(pod, 'PodResizeInProgress') === undefined &&
            resourcesText(pod) === JSON.stringify({ limits: amounts, requests: amounts }),
        );
        expect(cgroupsOf(after)).toMatchObject({ pod: limits(cpu, memory), container: limits(cpu, memory) });
        expect(after.status?.containerStatuses?.[0]).toMatchObject({
          restartCount: 0,
          allocatedResources: amounts,
        });
        expect(after.status?.containerStatuses?.[0]?.containerID).toBe(id);
      }
      expect(await eventsOf('grows')).toEqual([
        'ResizeStarted',
        'ResizeCompleted',
        'ResizeStarted',
        'ResizeCompleted',
      ]);
    }, 60_000);

    test('a memory limit does not fall below what is used', async () => {
      const hold = 'dd if=/dev/zero of=/m/x bs=1M count=60 && touch /m/ready; sleep 1000';
      await running.ok(
        ['apply', '-f', '-'],
        podOf('holds', hold, { cpu: '500m', memory: '128Mi' }, 'test -f /m/ready'),
      );
      const before = await watch.until('holds', isRunning);
      await patch('holds', { cpu: '500m', memory: '16Mi' });
      const refused = await watch.until('holds', (pod) =>
        Boolean(
          pod.status?.conditions?.some(
            ({ type, reason }) => type === 'PodResizeInProgress' && reason === 'Error',
          ),
        ),
      );
      const told = refused.status?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
      expect(told?.message).toMatch(
        /^cannot decrease memory limits: \[attempting to set pod memory limit \(16777216\) below current usage \(\d+\), attempting to set container "c" memory limit \(16777216\) below current usage \(\d+\)\]$/,
      );
      expect(cgroupsOf(before)).toMatchObject({ pod: limits(500, 128), container: limits(500, 128) });
      expect((await running.pod('holds')).status?.containerStatuses?.[0]).toMatchObject({
        restartCount: 0,
        allocatedResources: { cpu: '500m', memory: '16Mi' },
        resources: same({ cpu: '500m', memory: '128Mi' }),
      });
      await patch('holds', { cpu: '500m', memory: '256Mi' });
      const grown = await watch.until('holds', (pod) => resourcesText(pod).includes('256Mi'));
      expect(cgroupsOf(grown)).toMatchObject({ pod: limits(500, 256), container: limits(500, 256) });
    }, 60_000);

    test('a container that crashes gets more CPU with its next start, and so does its pod', async () => {
      await running.ok(['apply', '-f', '-'], podOf('crashes', 'exit 3', { cpu: '50m', memory: '64Mi' }));
      const restarts = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0;
      const waits = ({ status }: Pod): boolean =>
        status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
      const before = await watch.until('crashes', waits);
      await patch('crashes', { cpu: '200m', memory: '128Mi' });
      const after = await watch.until(
        'crashes',
        (pod) => restarts(pod) > restarts(before) && waits(pod),
        60_000,
      );
      expect(after.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
        reason: 'Error',
        exitCode: 3,
      });
      expect(cgroupsOf(after).pod).toMatchObject(limits(200, 128));
    }, 90_000);

    test('a sidecar that restarts for what its pod gets restarts once', async () => {
      const container = (name: string, more: object): object => ({
        ...{ name, image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent' },
        ...{ command: ['/bin/sh', '-c', "trap 'exit 0' TERM; sleep 1000 & wait"], ...more },
      });
      const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
      const spec = {
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
        resources: same({ cpu: '100m', memory: '64Mi' }),
        initContainers: [container('side', { restartPolicy: 'Always', resizePolicy })],
        containers: [container('c', {})],
      };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'side' }, spec };
      await running.ok(['apply', '-f', '-'], JSON.stringify(pod));
      await watch.until('side', isRunning);
      const wanted = JSON.stringify({ spec: { resources: same({ cpu: '300m', memory: '64Mi' }) } });
      await running.ok(['patch', 'pod', 'side', '--subresource=resize', '-p', wanted]);
      const { metadata } = await running.pod('side');
      const after = await watch.until(
        'side',
        (one) =>
          one.status?.observedGeneration === metadata?.generation &&
          condition(one, 'PodResizeInProgress') === undefined &&
          one.status?.initContainerStatuses?.[0]?.restartCount === 1 &&
          isRunning(one),
      );
      expect(after.status?.initContainerStatuses?.[0]?.lastState?.terminated).toMatchObject({ exitCode: 0 });
      expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
      expect(cgroupsOf(after).pod).toMatchObject(limits(300, 64));
    }, 60_000);

    test('an agent that is killed in the middle of a resize finishes it when it is back', async () => {
      await running.ok(['apply', '-f', '-'], podOf('killed', 'sleep 1000', { cpu: '50m', memory: '64Mi' }));
      const before = await watch.until('killed', isRunning);
      const from = running.told.length;
      await containerd.kill(); // so that the resize can only be begun
      await patch('killed', { cpu: '120m', memory: '96Mi' });
      await running.tells(({ type, reason }) => type === 'event' && reason === 'ResizeStarted', 30_000, from);
      running.signal('SIGKILL');
      await running.ended;
      expect(readdirSync(join(dir.path, 'data/agent'))).toEqual(
        expect.arrayContaining(['allocated_pods_state', 'actuated_pods_state']),
      );
      expect(cgroupsOf(before).container).toMatchObject(limits(50, 64));
      await containerd.start();
      await start();
      const amounts = { cpu: '120m', memory: '96Mi' };
      const after = await watch.until(
        'killed',
        (pod) =>
          resourcesText(pod) === JSON.stringify({ limits: amounts, requests: amounts }) &&
          condition(pod, 'PodResizeInProgress') === undefined,
        60_000,
      );
      expect(cgroupsOf(after)).toMatchObject({ pod: limits(120, 96), container: limits(120, 96) });
      expect(after.status?.containerStatuses?.[0]).toMatchObject({
        restartCount: 0,
        containerID: before.status?.containerStatuses?.[0]?.containerID,
      });
    }, 120_000);
  },
);
