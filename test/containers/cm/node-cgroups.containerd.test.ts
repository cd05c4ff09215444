import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CgroupStats } from '../../../src/containers/stats/cgroup-stats.ts';
import { kernelCgroupFiles } from '../../../src/containers/cm/files.ts';
import { type CgroupHost, detectCgroups } from '../../../src/containers/cm/host.ts';
import { NodeCgroups } from '../../../src/containers/cm/node-cgroups.ts';
import { hugePageSizes } from '../../../src/app/runtime-settings.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { Backoff, crashLoopBackoff, imagePullBackoff } from '../../../src/base/backoff.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { runtimeId } from '../../../src/containers/kuberuntime/config/convert.ts';
import { connectKubeRuntime, type KubeRuntime } from '../../../src/containers/kuberuntime/kube-runtime.ts';
import type { RuntimePodStatus } from '../../../src/provider/runtime-pod.ts';
import { connectCri, type CriRuntime } from '../../../src/providers/cri/index.ts';
import { type Containerd, skipWithoutContainerd, startContainerd } from '../../support/containerd.ts';
import { plainHelper } from '../../support/kube-runtime.ts';

const uid = 'uid-limited';
const small = { cpu: '200m', memory: '64Mi' };
const pod: Pod = {
  metadata: { name: 'limited', namespace: 'default', uid },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 2,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1001,
      fsGroup: 2000,
      supplementalGroups: [3000],
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: 'c',
        image: 'localhost/busybox:1',
        imagePullPolicy: 'IfNotPresent',
        command: ['/bin/sh', '-c', 'while true; do sleep 0.1; done'],
        resources: { requests: small, limits: small },
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  },
};

const host = detectCgroups(kernelCgroupFiles);
const signal = new AbortController().signal;

// A real container, because only the kernel knows what a configuration comes to.
describe.skipIf(skipWithoutContainerd() || !host)('a limited pod in containerd', () => {
  const root = [`podtender-cri-${process.pid}`];
  const folder = mkdtempSync(join(tmpdir(), 'cgroups-'));
  let containerd: Containerd;
  let runtime: CriRuntime;
  let provider: KubeRuntime;
  let node: NodeCgroups;

  beforeAll(async () => {
    containerd = await startContainerd();
    runtime = connectCri(containerd.socket, { clock: systemClock });
    node = nodeOver(host ?? { version: 1, hierarchies: [] });
    await node.start();
    provider = await providerOver();
  });

  afterAll(async () => {
    await runtime.close();
    await containerd.stop();
    node.tree.remove(root);
    rmSync(folder, { recursive: true, force: true });
  });

  const sizes = hugePageSizes(kernelCgroupFiles);
  const nodeOver = (found: CgroupHost): NodeCgroups =>
    new NodeCgroups(
      {
        files: kernelCgroupFiles,
        host: found,
        clock: systemClock,
        logger: silentLogger,
        activePods: () => [pod],
      },
      { driver: 'cgroupfs', enforceCpuLimits: true, podPidsLimit: 100, root, hugePageSizes: sizes },
    );

  function providerOver(): Promise<KubeRuntime> {
    const podContainerDir = join(folder, 'pods');
    mkdirSync(podContainerDir);
    const deps = {
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      runtime,
      images: runtime,
      helper: { ...plainHelper, cgroupParent: (of: Pod): string => node.cgroupParent(of) },
      recorder: { event: () => undefined },
      crashBackoff: new Backoff(systemClock, crashLoopBackoff),
      imageBackoff: new Backoff(systemClock, imagePullBackoff),
      liveness: new Map(),
      startup: new Map(),
    };
    const settings = { memoryCapacityBytes: 8e9, cgroupV2: host?.version === 2, hugePageSizes: sizes };
    return connectKubeRuntime(deps, { podLogsRoot: join(folder, 'logs'), ...settings });
  }

  const status = (): Promise<RuntimePodStatus> =>
    provider.getPodStatus({ uid, name: 'limited', namespace: 'default' });

  async function output(script: string): Promise<string> {
    const { containerStatuses } = await status();
    const id = containerStatuses[0]?.id ?? '';
    const ref = { podUid: uid, namespace: 'default', pod: 'limited', container: 'c', id };
    const { stdout } = await provider.execSync(ref, ['/bin/sh', '-c', `${script} 2>&1`], 10_000);
    return stdout.toString().trim();
  }

  test('it starts in its cgroup, as who and with what it may', { timeout: 60_000 }, async () => {
    await node.ensure(pod);
    const request = { pod, observed: await status(), pullSecrets: [], restartAllContainers: false };
    const { results } = await provider.syncPod(request, signal);
    expect(results.flatMap(({ reason, message }) => message ?? reason ?? [])).toEqual([]);
    expect(await output('id -u; id -g; id -G')).toBe('1000\n1001\n1001 2000 3000');
    const kernel = await output('cat /proc/self/status');
    expect(kernel).toMatch(/^NoNewPrivs:\t1$/m);
    expect(kernel).toMatch(/^Seccomp:\t2$/m);
    expect(kernel).toMatch(/^CapBnd:\t0+$/m);
    expect(await output('touch /x')).toContain('Read-only file system');
    expect(await output('wc -c < /proc/keys')).toBe('0');
    expect(await output('touch /proc/sys/kernel/domainname')).toContain('Read-only file system');
  });

  test('its use is measured where it runs', async () => {
    const { containerStatuses } = await status();
    const id = runtimeId(containerStatuses[0]?.id ?? '');
    const stats = new CgroupStats({
      tree: node.tree,
      version: host?.version ?? 1,
      kubepods: node.kubepods,
      clock: systemClock,
    });
    const [measured] = stats.collect([{ pod, containerIds: new Map([['c', id]]) }]).pods;
    expect(measured?.memory?.availableBytes).toBeLessThan(64 * 2 ** 20);
    expect(measured?.containers[0]?.memory?.usageBytes).toBeGreaterThan(0);
    expect(measured?.containers[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect(measured?.process_stats?.process_count).toBeGreaterThan(0);
  });

  test('nothing of it stays, though the runtime leaves its parents', { timeout: 60_000 }, async () => {
    const running = (await provider.listPods()).find((one) => one.uid === uid);
    if (running) await provider.killPod(pod, running, 1, signal);
    await node.destroyOrphans(node.snapshot(), new Set(), () => false);
    expect(node.snapshot().size).toBe(0);
    expect(node.exists(pod)).toBe(false);
  });
});
