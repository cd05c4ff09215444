import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Backoff, crashLoopBackoff, imagePullBackoff } from '../../../src/base/backoff.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { connectKubeRuntime, type KubeRuntime } from '../../../src/containers/kuberuntime/kube-runtime.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../src/provider/runtime-pod.ts';
import { connectCri, type CriRuntime } from '../../../src/providers/cri/index.ts';
import { type Containerd, skipWithoutContainerd, startContainerd } from '../../support/containerd.ts';
import { plainHelper } from '../../support/kube-runtime.ts';
import { found } from '../../support/found.ts';

type Container = NonNullable<Pod['spec']>['containers'][number];
const signal = new AbortController().signal;

const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'localhost/busybox:1',
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
  terminationMessagePath: '/dev/termination-log',
  ...more,
});

const podOf = (name: string, spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [], restartPolicy: 'Never', terminationGracePeriodSeconds: 5, ...spec },
});

// Real containers: each test takes as long as they need to start and stop.
describe.skipIf(skipWithoutContainerd())('pods in containerd', () => {
  let containerd: Containerd;
  let runtime: CriRuntime;
  let provider: KubeRuntime;
  let folder = '';
  let events: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cri-pods-'));
    containerd = await startContainerd();
    runtime = connectCri(containerd.socket, { clock: systemClock });
  });

  beforeEach(async () => {
    provider = await newProvider();
  });

  afterAll(async () => {
    await runtime.close();
    await containerd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A provider without memory, as after a start of the agent. */
  async function newProvider(): Promise<KubeRuntime> {
    events = [];
    const podContainerDir = join(folder, 'pods');
    mkdirSync(podContainerDir, { recursive: true });
    const deps = {
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      runtime,
      images: runtime,
      helper: { ...plainHelper, generateRunContainerOptions: async () => ({ podContainerDir }) },
      recorder: {
        event: (_pod: unknown, type: string, reason: string, message: string) =>
          void events.push(`${type} ${reason} ${message}`),
      },
      crashBackoff: new Backoff(systemClock, crashLoopBackoff),
      imageBackoff: new Backoff(systemClock, imagePullBackoff),
      liveness: new Map(),
      startup: new Map(),
    };
    return connectKubeRuntime(deps, { podLogsRoot: join(folder, 'logs'), memoryCapacityBytes: 8e9 });
  }

  const statusOf = ({ metadata }: Pod): Promise<RuntimePodStatus> => {
    const { uid = '', name = '', namespace = '' } = metadata ?? {};
    return provider.getPodStatus({ uid, name, namespace });
  };

  async function sync(pod: Pod): Promise<readonly string[]> {
    const request = { pod, observed: await statusOf(pod), pullSecrets: [], restartAllContainers: false };
    const { results } = await provider.syncPod(request, signal);
    return results.map(({ action, target, reason = 'ok' }) => `${action} ${target} ${reason}`);
  }

  /** The container's status once it is as wanted. */
  function until(
    pod: Pod,
    name: string,
    wanted: RuntimeContainerStatus['state'],
  ): Promise<RuntimeContainerStatus> {
    const look = async (): Promise<RuntimeContainerStatus | undefined> => {
      const { containerStatuses } = await statusOf(pod);
      return containerStatuses.find((status) => status.name === name && status.state === wanted);
    };
    return found(`container ${name} ${wanted}`, look, { withinMs: 15_000 });
  }

  async function kill(pod: Pod, gracePeriodSeconds?: number): Promise<void> {
    const running = (await provider.listPods()).find(({ uid }) => uid === pod.metadata?.uid);
    if (running) await provider.killPod(pod, running, gracePeriodSeconds, signal);
  }

  const refTo = (pod: Pod, { id, name }: RuntimeContainerStatus): Parameters<KubeRuntime['readLogs']>[0] => ({
    podUid: pod.metadata?.uid ?? '',
    namespace: 'default',
    pod: pod.metadata?.name ?? '',
    container: name,
    id,
  });

  test('init container, sidecar and two containers start in order, are used and end in order', async () => {
    const loop = 'trap "exit 0" TERM; echo hello; while true; do sleep 0.1; done';
    const pod = podOf('whole', {
      initContainers: [shell('setup', 'echo ready'), shell('proxy', loop, { restartPolicy: 'Always' })],
      containers: [shell('one', loop), shell('two', loop)],
    });
    expect(await sync(pod)).toContain('StartContainer setup ok');
    await until(pod, 'setup', 'exited');
    expect(await sync(pod)).toEqual(['StartContainer proxy ok']);
    await until(pod, 'proxy', 'running');
    expect(await sync(pod)).toEqual(['StartContainer one ok', 'StartContainer two ok']);
    const one = await until(pod, 'one', 'running');
    expect((await statusOf(pod)).ips[0]).toMatch(/^10\./);
    const ran = await provider.execSync(refTo(pod, one), ['/bin/sh', '-c', 'hostname; exit 4'], 5000);
    expect(ran.exitCode).toBe(4);
    expect(ran.stdout.toString()).toBe('whole\n');
    const text: string[] = [];
    const stdout = (bytes: Buffer): void => void text.push(bytes.toString());
    await provider.readLogs(refTo(pod, one), {}, stdout, signal);
    expect(text.join('')).toBe('hello\n');
    await kill(pod);
    const { containerStatuses, sandboxStatuses } = await statusOf(pod);
    expect(containerStatuses.map(({ state }) => state)).toEqual(['exited', 'exited', 'exited', 'exited']);
    expect(sandboxStatuses[0]?.state).toBe('SANDBOX_NOTREADY');
    const endOf = (name: string): number =>
      containerStatuses.find((each) => each.name === name)?.finishedAt ?? 0;
    expect(endOf('proxy')).toBeGreaterThanOrEqual(Math.max(endOf('one'), endOf('two')));
    expect(events.filter((event) => event.includes('Killing')).sort()).toEqual([
      'Normal Killing Stopping container one',
      'Normal Killing Stopping container proxy',
      'Normal Killing Stopping container two',
    ]);
  });

  test('a container that does not heed its signal is killed when its grace ends', async () => {
    const pod = podOf('deaf', {
      containers: [shell('main', 'trap "" TERM; while true; do sleep 0.1; done')],
    });
    await sync(pod);
    await until(pod, 'main', 'running');
    await kill(pod, 1);
    expect((await until(pod, 'main', 'exited')).exitCode).toBe(137);
  });

  test('what a container leaves as its last words, or its log, is its message', async () => {
    const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' } as const;
    const pod = podOf('words', {
      containers: [
        shell('said', 'echo -n bye > /dev/termination-log; exit 1'),
        shell('logged', 'echo oh; exit 2', fallback),
      ],
    });
    await sync(pod);
    expect(await until(pod, 'said', 'exited')).toMatchObject({ exitCode: 1, message: 'bye' });
    expect(await until(pod, 'logged', 'exited')).toMatchObject({ exitCode: 2, message: 'oh\n' });
    await kill(pod);
  });

  test('containerd is killed under a pod; the next provider adopts it and starts nothing anew', async () => {
    const pod = podOf('kept', { restartPolicy: 'Always', containers: [shell('main', 'exec sleep 600')] });
    await sync(pod);
    const { id } = await until(pod, 'main', 'running');
    await containerd.kill();
    await expect(statusOf(pod)).rejects.toMatchObject({ code: 'unavailable' });
    await containerd.start();
    await delay(500);
    provider = await newProvider();
    expect((await until(pod, 'main', 'running')).id).toBe(id);
    expect(await sync(pod)).toEqual([]);
    expect(events).toEqual([]);
    await kill(pod, 1);
  });

  test('a missing program and an image that cannot be pulled have their waiting reasons', async () => {
    const never = { image: 'localhost/none:1', imagePullPolicy: 'Never' };
    const pod = podOf('wrong', {
      containers: [shell('odd', '', { command: ['/no/such'] }), shell('none', '', never)],
    });
    expect((await sync(pod)).filter((result) => result.startsWith('StartContainer'))).toEqual([
      'StartContainer odd RunContainerError',
      'StartContainer none ErrImageNeverPull',
    ]);
    expect(await until(pod, 'odd', 'exited')).toMatchObject({ exitCode: 128, reason: 'StartError' });
    await kill(pod);
  });
});
