import { type AddressInfo, createServer } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Backoff, crashLoopBackoff, imagePullBackoff } from '../../../src/base/backoff.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { connectKubeRuntime, type KubeRuntime } from '../../../src/containers/kuberuntime/kube-runtime.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { RuntimePodStatus } from '../../../src/provider/runtime-pod.ts';
import { ProcessRuntime } from '../../../src/providers/process/runtime.ts';
import { plainHelper } from '../../support/kube-runtime.ts';

// Real processes: each test takes as long as they need to start and stop.
const signal = new AbortController().signal;
let folder = '';
let events: string[] = [];
let runtime: ProcessRuntime;
let provider: KubeRuntime;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kuberuntime-'));
  await open();
});

afterEach(async () => {
  for (const pod of await provider.listPods()) await provider.killPod(undefined, pod, 1, signal);
  runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(): Promise<void> {
  const base = { clock: systemClock, random: systemRandom, logger: silentLogger };
  runtime = new ProcessRuntime({ ...base, settings: { dataDir: join(folder, 'data'), hostIp: '127.0.0.1' } });
  await runtime.open();
  events = [];
  const deps = {
    ...base,
    runtime,
    images: runtime,
    helper: {
      ...plainHelper,
      generateRunContainerOptions: async () => ({ podContainerDir: join(folder, 'pods') }),
    },
    recorder: {
      event: (_pod: unknown, type: string, reason: string, message: string) =>
        void events.push(`${type} ${reason} ${message}`),
    },
    crashBackoff: new Backoff(systemClock, crashLoopBackoff),
    imageBackoff: new Backoff(systemClock, imagePullBackoff),
    liveness: new Map(),
    startup: new Map(),
  };
  provider = await connectKubeRuntime(deps, { podLogsRoot: join(folder, 'logs'), memoryCapacityBytes: 8e9 });
}

type Container = NonNullable<Pod['spec']>['containers'][number];
const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'busybox',
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
  ...more,
});

const podOf = (spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [], restartPolicy: 'Never', terminationGracePeriodSeconds: 5, ...spec },
});
const ref = { uid: 'uid-1', name: 'web', namespace: 'default' };

async function sync(pod: Pod, podEnds: AbortSignal = signal): Promise<readonly string[]> {
  const observed = await provider.getPodStatus(ref);
  const request = { pod, observed, pullSecrets: [], restartAllContainers: false, podEnds };
  const { results } = await provider.syncPod(request, signal);
  return results.map(({ action, target, reason = 'ok', message = '' }) =>
    `${action} ${target} ${reason} ${message}`.trim(),
  );
}

/** The status once it is as wanted; the runtime tells when something changed. */
async function until(wanted: (status: RuntimePodStatus) => boolean): Promise<RuntimePodStatus> {
  for (;;) {
    const changed = Promise.withResolvers<unknown>();
    const off = runtime.events.on('change', changed.resolve);
    const status = await provider.getPodStatus(ref);
    if (!wanted(status)) await changed.promise;
    off();
    if (wanted(status)) return status;
  }
}

const stateOf = ({ containerStatuses }: RuntimePodStatus, name: string): string | undefined =>
  containerStatuses.find((status) => status.name === name)?.state;

test('a pod runs its init container, then its sidecar and its container, and ends them in order', async () => {
  const pod = podOf({
    initContainers: [shell('setup', 'echo ready'), shell('proxy', 'sleep 60', { restartPolicy: 'Always' })],
    containers: [shell('main', 'echo hello; exec sleep 60')],
  });
  expect(await sync(pod)).toContain('StartContainer setup ok');
  await until((status) => stateOf(status, 'setup') === 'exited');
  expect(await sync(pod)).toEqual(['StartContainer proxy ok']);
  expect(await sync(pod)).toEqual(['StartContainer main ok']);
  const running = (await provider.listPods()).find(({ uid }) => uid === ref.uid);
  expect(running?.containers.map(({ name, state }) => `${name} ${state}`).sort()).toEqual([
    'main running',
    'proxy running',
    'setup exited',
  ]);
  if (running) await provider.killPod(pod, running, undefined, signal);
  const { containerStatuses, sandboxStatuses } = await provider.getPodStatus(ref);
  expect(containerStatuses.map(({ state }) => state)).toEqual(['exited', 'exited', 'exited']);
  expect(sandboxStatuses[0]?.state).toBe('SANDBOX_NOTREADY');
  const ended = (name: string): number => containerStatuses.find((one) => one.name === name)?.finishedAt ?? 0;
  expect(ended('main')).toBeLessThanOrEqual(ended('proxy'));
  expect(events.slice(-2).sort()).toEqual([
    'Normal Killing Stopping container main',
    'Normal Killing Stopping container proxy',
  ]);
});

test('what a failed container printed last is its termination message', async () => {
  const pod = podOf({
    containers: [
      shell('main', 'echo one; echo two >&2; exit 3', {
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'FallbackToLogsOnError',
      }),
    ],
  });
  await sync(pod);
  const { containerStatuses } = await until((status) => stateOf(status, 'main') === 'exited');
  expect(containerStatuses[0]).toMatchObject({ exitCode: 3, restartCount: 0, message: 'one\ntwo\n' });
});

test('a crashing container starts again at once, then waits', async () => {
  const pod = podOf({ restartPolicy: 'Always', containers: [shell('main', 'exit 1')] });
  await sync(pod);
  await until((status) => stateOf(status, 'main') === 'exited');
  expect(await sync(pod)).toEqual(['StartContainer main ok']);
  const { containerStatuses } = await until(
    (status) => status.containerStatuses.length === 2 && stateOf(status, 'main') === 'exited',
  );
  expect(containerStatuses[0]?.restartCount).toBe(1);
  expect(await sync(pod)).toEqual([
    'StartContainer main CrashLoopBackOff back-off 10s restarting failed container=main pod=web_default(uid-1)',
  ]);
});

test('a failing postStart hook ends the container and tells why', async () => {
  const hook = { exec: { command: ['/bin/sh', '-c', 'echo no; exit 4'] } };
  const pod = podOf({ containers: [shell('main', 'sleep 60', { lifecycle: { postStart: hook } })] });
  const [, , start] = await sync(pod);
  expect(start).toBe(
    `StartContainer main PostStartHookError Exec lifecycle hook ([/bin/sh -c echo no; exit 4]) for Container "main" in Pod "web_default(uid-1)" failed - error: command '/bin/sh -c echo no; exit 4' exited with 4: , message: "no\\n"`,
  );
  expect(events.slice(-2)).toEqual([
    'Warning FailedPostStartHook PostStartHook failed',
    'Normal Killing FailedPostStartHook',
  ]);
});

test.for([
  ['server that holds it', (port: number) => ({ httpGet: { host: '127.0.0.1', port, path: '/' } })],
  ['command', () => ({ exec: { command: ['/bin/sleep', '1000'] } })],
] as const)('a postStart hook that waits for a %s ends when its pod is to end', async ([, hookOf]) => {
  const held = createServer((socket) =>
    socket.on('error', () => undefined).write('HTTP/1.1 101 x\r\nUpgrade: y\r\nConnection: Upgrade\r\n\r\n'),
  );
  await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
  const { port } = held.address() as AddressInfo;
  const pod = podOf({
    containers: [shell('main', 'sleep 60', { lifecycle: { postStart: hookOf(port) } })],
  });
  const cancelled = new AbortController();
  const synced = sync(pod, cancelled.signal);
  await until((status) => stateOf(status, 'main') === 'running');
  cancelled.abort();
  expect((await synced).join()).toContain('StartContainer main PostStartHookError');
  expect(stateOf(await provider.getPodStatus(ref), 'main')).toBe('running');
  held.close();
});

test('logs are read where the runtime writes them, and the next agent finds the same containers', async () => {
  const pod = podOf({ containers: [shell('main', 'echo hello; exec sleep 60')] });
  await sync(pod);
  const before = await until((status) => stateOf(status, 'main') === 'running');
  runtime.close();
  await open();
  const after = await provider.getPodStatus(ref);
  expect(after.containerStatuses.map(({ id, hash }) => [id, hash])).toEqual(
    before.containerStatuses.map(({ id, hash }) => [id, hash]),
  );
  expect(await sync(pod)).toEqual([]);
  const [container] = after.containerStatuses;
  const where = {
    podUid: 'uid-1',
    namespace: 'default',
    pod: 'web',
    container: 'main',
    id: container?.id ?? '',
  };
  const text: string[] = [];
  const enough = new AbortController();
  const take = (bytes: Buffer): void => {
    text.push(bytes.toString());
    enough.abort();
  };
  await provider.readLogs(where, { follow: true }, take, enough.signal);
  expect(text.join('')).toBe('hello\n');
  expect((await provider.execSync(where, ['/bin/echo', 'hi'], 5000)).stdout.toString()).toBe('hi\n');
});
