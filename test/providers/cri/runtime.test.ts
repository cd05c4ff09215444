import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import {
  type ContainerConfig,
  ContainerState,
  type PodSandboxConfig,
} from '../../../src/provider/cri-messages.ts';
import {
  cgroupDriverOf,
  connectCri,
  type CriRuntime,
  validateCri,
  watchPodEvents,
} from '../../../src/providers/cri/index.ts';
import {
  type Containerd,
  removeEmptyCgroups,
  skipWithoutContainerd,
  startContainerd,
} from '../../support/containerd.ts';
import { busyboxImage } from '../../support/images.ts';
import { type Registry, startRegistry } from '../../support/registry.ts';

const image = { image: 'localhost/busybox:1' };

describe.skipIf(skipWithoutContainerd())('every CRI call against containerd', () => {
  let containerd: Containerd;
  let runtime: CriRuntime;
  let registry: Registry;
  let logs = '';
  let sandbox: PodSandboxConfig;
  let podSandboxId = '';
  let containerId = '';

  beforeAll(async () => {
    logs = mkdtempSync(join(tmpdir(), 'cri-logs-'));
    sandbox = {
      metadata: { name: 'web', uid: 'uid-1', namespace: 'default', attempt: 0 },
      hostname: 'web',
      logDirectory: logs,
      labels: { app: 'web' },
      dnsConfig: { servers: ['10.0.0.10'], searches: ['a.b'], options: ['ndots:5'] },
      linux: { cgroupParent: '/podtender-cri-test' },
    };
    containerd = await startContainerd();
    runtime = connectCri(`unix://${containerd.socket}`, { clock: systemClock });
    registry = await startRegistry([busyboxImage('x/app:1', { Cmd: ['/bin/true'] })], {
      basicAuth: 'me:secret',
    });
  });

  afterAll(async () => {
    await registry.close();
    await runtime.close();
    await containerd.stop();
    removeEmptyCgroups('podtender-cri-test');
    rmSync(logs, { recursive: true, force: true });
  });

  /** Makes a container of the shell script and starts it. */
  async function started(name: string, script: string, more: ContainerConfig = {}): Promise<string> {
    const config: ContainerConfig = {
      metadata: { name, attempt: 0 },
      image,
      command: ['/bin/sh', '-c', script],
      logPath: `${name}.log`,
      labels: { name },
      linux: {},
      ...more,
    };
    const { containerId: id = '' } = await runtime.createContainer({
      podSandboxId,
      config,
      sandboxConfig: sandbox,
    });
    await runtime.startContainer({ containerId: id });
    return id;
  }

  test('it tells its version and that it is well', async () => {
    await validateCri(runtime);
    expect(await runtime.version({ version: '0.1.0' })).toMatchObject({
      runtimeName: 'containerd',
      runtimeApiVersion: 'v1',
    });
    const { status, info } = await runtime.status({ verbose: true });
    expect(status?.conditions?.map((condition) => condition.status)).toEqual([true, true]);
    expect(Object.keys(info ?? {})).toContain('config');
  });

  test('a sandbox runs with a network of its own', async () => {
    ({ podSandboxId = '' } = await runtime.runPodSandbox({ config: sandbox }));
    const { status } = await runtime.podSandboxStatus({ podSandboxId });
    expect(status?.metadata).toEqual({ name: 'web', uid: 'uid-1', namespace: 'default' });
    expect(status?.network?.ip).toMatch(/^10\./);
    const { items } = await runtime.listPodSandbox({ filter: { labelSelector: { app: 'web' } } });
    expect(items?.map(({ id }) => id)).toEqual([podSandboxId]);
    expect(
      (await runtime.listPodSandbox({ filter: { labelSelector: { app: 'other' } } })).items,
    ).toBeUndefined();
  });

  test('a container runs, is listed and has a status', async () => {
    containerId = await started(
      'main',
      'echo out; echo err >&2; trap "exit 7" TERM; while true; do sleep 0.1; done',
      {
        envs: [{ key: 'A', value: Buffer.from('\u00e4') }],
      },
    );
    const { containers } = await runtime.listContainers({ filter: { podSandboxId } });
    expect(containers?.map(({ id, state }) => [id, state])).toEqual([
      [containerId, ContainerState.CONTAINER_RUNNING],
    ]);
    const { status } = await runtime.containerStatus({ containerId });
    expect(status).toMatchObject({
      metadata: { name: 'main' },
      state: ContainerState.CONTAINER_RUNNING,
      labels: { name: 'main' },
    });
    expect((status?.startedAt ?? 0) / 1e6).toBeGreaterThan(systemClock.now() - 60_000);
  });

  test('commands run in it, with output and exit code', async () => {
    const answer = await runtime.execSync({
      containerId,
      cmd: ['/bin/sh', '-c', 'echo "$A"; echo e >&2; exit 3'],
      timeout: 5,
    });
    expect(answer.exitCode).toBe(3);
    expect(Buffer.from(answer.stdout ?? []).toString()).toBe('\u00e4\n');
    expect(Buffer.from(answer.stderr ?? []).toString()).toBe('e\n');
  });

  test('a command that takes too long ends with deadline_exceeded', async () => {
    await expect(
      runtime.execSync({ containerId, cmd: ['/bin/sleep', '9'], timeout: 1 }),
    ).rejects.toMatchObject({
      code: 'deadline_exceeded',
      message: expect.stringMatching(/^rpc error: code = DeadlineExceeded desc = /) as string,
    });
  });

  test('more output than one message holds is refused, as the kubelet has it', async () => {
    const cmd = ['/bin/sh', '-c', 'head -c 17000000 /dev/zero'];
    await expect(runtime.execSync({ containerId, cmd, timeout: 20 })).rejects.toMatchObject({
      message: expect.stringMatching(/^rpc error: code = (ResourceExhausted|Unknown) desc = /) as string,
    });
  });

  test('a call is cancelled by its signal, and one with a deadline ends by it', async () => {
    const stop = new AbortController();
    const slow = runtime.execSync({ containerId, cmd: ['/bin/sleep', '5'] }, { signal: stop.signal });
    setTimeout(() => {
      stop.abort();
    }, 100);
    await expect(slow).rejects.toMatchObject({
      code: 'cancelled',
      message: 'rpc error: code = Canceled desc = context canceled',
    });
    const tooSlow = runtime.execSync({ containerId, cmd: ['/bin/sleep', '5'] }, { timeoutMs: 200 });
    await expect(tooSlow).rejects.toMatchObject({
      code: 'deadline_exceeded',
      message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    });
  });

  test('a deadline further off than gRPC can write is none', async () => {
    const answer = { runtimeName: 'containerd' };
    await expect(runtime.version({}, { timeoutMs: 2 ** 63 * 1000 })).resolves.toMatchObject(answer);
    await expect(runtime.version({}, { timeoutMs: 40 * 86_400_000 })).resolves.toMatchObject(answer);
  });

  test('streams are served under one-time addresses', async () => {
    const io = { stdout: true, stderr: true };
    const urls = [
      (await runtime.exec({ containerId, cmd: ['/bin/true'], ...io })).url,
      (await runtime.attach({ containerId, ...io })).url,
      (await runtime.portForward({ podSandboxId, port: [80] })).url,
    ];
    for (const url of urls) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/(exec|attach|portforward)\//);
  });

  test('limits are changed while it runs', async () => {
    await runtime.updateContainerResources({
      containerId,
      linux: { cpuShares: 512, memoryLimitInBytes: 64 * 1024 * 1024 },
    });
  });

  test('the log is written in CRI form and opened anew', async () => {
    await runtime.reopenContainerLog({ containerId });
    expect(readFileSync(join(logs, 'main.log'), 'utf8')).toMatch(/ stdout F out\n/);
  });

  test('what it uses is counted', async () => {
    expect((await runtime.containerStats({ containerId })).stats?.attributes?.id).toBe(containerId);
    expect((await runtime.listContainerStats({})).stats).toHaveLength(1);
    expect((await runtime.podSandboxStats({ podSandboxId })).stats?.attributes?.id).toBe(podSandboxId);
    expect((await runtime.listPodSandboxStats({})).stats).toHaveLength(1);
    expect((await runtime.imageFsInfo({})).imageFilesystems?.[0]?.fsId?.mountpoint).toContain(containerd.dir);
  });

  test('the cgroup driver is reported by runtimes that support it', async () => {
    const version = (await runtime.version({})).runtimeVersion ?? '';
    expect(await cgroupDriverOf(runtime)).toBe(/^[v]?[2-9]/.test(version) ? 'cgroupfs' : undefined);
  });

  test('what the runtime does not have is unimplemented', async () => {
    const request = { podSandboxId, resources: { cpuShares: 2 } };
    await expect(runtime.updatePodSandboxResources(request)).rejects.toMatchObject({ code: 'unimplemented' });
    await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '10.1.0.0/24' } } });
  });

  test('watching events ends when they are not supported, or reports pods', async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = watchPodEvents(
      { runtime, clock: systemClock },
      (uid) => void seen.push(uid),
      stop.signal,
    );
    await delay(200);
    await started('brief', 'exit 0');
    await delay(500);
    const version = (await runtime.version({})).runtimeVersion ?? '';
    if (version.startsWith('1.6')) expect(seen).toEqual([]);
    else expect(new Set(seen)).toEqual(new Set(['uid-1']));
    stop.abort();
    await watching;
  });

  test('the error of a missing program has the runtime\u2019s message', async () => {
    await expect(started('odd', '', { command: ['/no/such'] })).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/^rpc error: code = Unknown desc = .*exec: "\/no\/such"/s) as string,
    });
  });

  test('it is stopped by its signal, and removed', async () => {
    await runtime.stopContainer({ containerId, timeout: 10 });
    const { status } = await runtime.containerStatus({ containerId });
    expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 7, reason: 'Error' });
    await runtime.removeContainer({ containerId });
    await expect(runtime.containerStatus({ containerId })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('images are pulled with credentials, listed and removed', async () => {
    const app = { image: `${registry.host}/app:1` };
    await expect(runtime.pullImage({ image: app })).rejects.toThrow(/401|no basic auth|authorization/i);
    const { imageRef = '' } = await runtime.pullImage({
      image: app,
      auth: { username: 'me', password: 'secret' },
    });
    expect(imageRef).toMatch(/sha256:/);
    expect((await runtime.imageStatus({ image: app })).image?.repoTags).toContain(app.image);
    const { images = [] } = await runtime.listImages({});
    expect(images.flatMap(({ repoTags = [] }) => repoTags)).toContain(app.image);
    await runtime.removeImage({ image: app });
    expect(await runtime.imageStatus({ image: app })).toEqual({});
    const missing = {
      image: { image: `${registry.host}/none:1` },
      auth: { username: 'me', password: 'secret' },
    };
    await expect(runtime.pullImage(missing)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a pull that waits for the registry is cancelled', async () => {
    registry.faults.push({ path: '/manifests/', delayMs: 5000 });
    const pull = runtime.pullImage(
      { image: { image: `${registry.host}/app:1` } },
      { signal: AbortSignal.timeout(300) },
    );
    await expect(pull).rejects.toMatchObject({ code: 'cancelled' });
    registry.faults.length = 0;
  });

  test('the runtime is killed and comes back: the client goes on, containers were not touched', async () => {
    const survivor = await started('survivor', 'sleep 600');
    await containerd.kill();
    await expect(runtime.version({})).rejects.toMatchObject({ code: 'unavailable' });
    await containerd.start();
    const signal = AbortSignal.timeout(10_000);
    while (
      !(await runtime.version({}).then(
        () => true,
        () => false,
      ))
    )
      await delay(50, undefined, { signal });
    expect((await runtime.containerStatus({ containerId: survivor })).status?.state).toBe(
      ContainerState.CONTAINER_RUNNING,
    );
  });

  test('a sandbox is stopped and removed', async () => {
    await runtime.stopPodSandbox({ podSandboxId });
    await runtime.removePodSandbox({ podSandboxId });
    await expect(runtime.podSandboxStatus({ podSandboxId })).rejects.toMatchObject({ code: 'not_found' });
  });
});
