import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ContainerState } from '../../src/provider/cri-messages.ts';
import { readStat } from '../../src/processes/proc.ts';
import type { ProcessRuntime } from '../../src/providers/process/runtime.ts';
import { makeBench, openRuntime } from '../providers/process/harness.ts';

let dir: string;
const opened: ProcessRuntime[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-survival-'));
});
afterEach(async () => {
  for (const runtime of opened.splice(0)) {
    for (const { id = '' } of (await runtime.listPodSandbox({})).items ?? []) {
      await runtime.removePodSandbox({ podSandboxId: id });
    }
    runtime.close();
  }
  rmSync(dir, { recursive: true, force: true });
});

/** Runs `script` in a container of an agent of its own, kills that agent as soon as the container runs, and waits for its end. */
async function orphan(script: string): Promise<{ readonly id: string; readonly pid: number }> {
  const program = fileURLToPath(new URL('doomed-agent.ts', import.meta.url));
  const agent = spawn(process.execPath, [program, dir, script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(agent.stdout, 'data')) as [Buffer];
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  const [id = '', pid = ''] = line.toString().trim().split(' ');
  return { id, pid: Number(pid) };
}

async function nextAgent(): Promise<ProcessRuntime> {
  const runtime = await openRuntime(dir);
  opened.push(runtime);
  return runtime;
}

const status = async (runtime: ProcessRuntime, id: string) =>
  (await runtime.containerStatus({ containerId: id, verbose: true })).status;

test('a running process of a killed agent is found again under the same pid, and can be stopped', async () => {
  const { id, pid } = await orphan('exec sleep 1000');
  const runtime = await nextAgent();
  expect((await runtime.listContainers({})).containers).toHaveLength(1);
  expect(await status(runtime, id)).toMatchObject({ state: ContainerState.CONTAINER_RUNNING });
  expect(runtime.container(id).pid).toBe(pid);
  expect((await runtime.listPodSandbox({})).items).toMatchObject([{ state: 0 }]);
  await runtime.stopContainer({ containerId: id, timeout: 5 });
  expect(await status(runtime, id)).toMatchObject({ exitCode: 143 });
  expect(readStat(pid)?.state ?? 'Z').toBe('Z');
});

test('what a container wrote around the death of its agent is in its log once, and its exit code is kept', async () => {
  const { id } = await orphan('i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "line $i"; done; exit 9');
  const runtime = await nextAgent();
  await runtime.container(id).ended(AbortSignal.timeout(20_000));
  expect(await status(runtime, id)).toMatchObject({ exitCode: 9, reason: 'Error' });
  const lines = readFileSync(join(dir, 'logs/main/0.log'), 'utf8').trimEnd().split('\n');
  const numbers = lines.map((line) => Number(line.split(' ').at(-1)));
  expect(numbers).toEqual(Array.from({ length: 3000 }, (_, index) => index + 1));
});

test('a container whose supervisor was killed runs on, and its end is seen though its exit code is lost', async () => {
  const { id, pid } = await orphan('exec sleep 1000');
  const runtime = await nextAgent();
  process.kill(runtime.container(id).identity?.supervisorPid ?? 0, 'SIGKILL');
  await runtime.listContainers({});
  expect(await status(runtime, id)).toMatchObject({ state: ContainerState.CONTAINER_RUNNING });
  process.kill(pid, 'SIGKILL');
  await runtime.stopContainer({ containerId: id, timeout: 0 });
  expect(await status(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
});

test('after a restart of the machine a container has exited and its sandbox is not ready', async () => {
  const bench = await makeBench();
  const id = await bench.run(['sleep', '1000']);
  bench.runtime.close();
  const { runDir, identity } = bench.runtime.container(id);
  const pidFile = join(runDir, 'pid');
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^.*\n/, 'another-boot\n'));
  const record = join(bench.dir, 'process/sandboxes', bench.sandboxId, 'sandbox.json');
  writeFileSync(record, readFileSync(record, 'utf8').replace(/"bootId":"[^"]*"/, '"bootId":"another-boot"'));
  await bench.restart();
  expect(await bench.status(id)).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 255 });
  expect((await bench.runtime.listPodSandbox({})).items).toMatchObject([{ state: 1 }]);
  // a process of another boot is none of ours, whatever its pid
  expect(['R', 'S']).toContain(readStat(identity?.pid ?? 0)?.state);
  process.kill(-(identity?.pid ?? 0), 'SIGKILL');
  await bench.end();
});

test('a container whose agent died before the supervisor began never starts twice', async () => {
  const bench = await makeBench();
  const id = await bench.create({ metadata: { name: 'main' }, command: ['sleep', '1000'] });
  const { dir: own, runDir } = bench.runtime.container(id);
  mkdirSync(runDir);
  writeFileSync(join(own, 'supervise.sh'), ': >claim\n');
  await bench.restart();
  expect(await bench.status(id)).toMatchObject({ exitCode: 128, reason: 'StartError' });
  await bench.end();
});

test('a half written record is cleared away', async () => {
  const half = join(dir, 'process/containers/abc');
  mkdirSync(half, { recursive: true });
  writeFileSync(join(half, 'container.json'), '{"id": "ab');
  const runtime = await nextAgent();
  expect((await runtime.listContainers({})).containers).toEqual([]);
});

test('a container whose folder was removed can be stopped, and its pod too', async () => {
  const bench = await makeBench();
  const id = await bench.run(['sleep', '1000']);
  const { pid = 0 } = bench.runtime.container(id);
  rmSync(bench.dir, { recursive: true });
  await bench.runtime.stopContainer({ containerId: id, timeout: 5 });
  expect(readStat(pid)?.state ?? 'Z').toBe('Z');
  expect(await bench.status(id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  await bench.runtime.stopPodSandbox({ podSandboxId: bench.sandboxId });
  expect((await bench.runtime.listPodSandbox({})).items).toMatchObject([{ state: 1 }]);
  await bench.end();
});

test('a container whose log takes nothing writes on once there is room, and ends in any case', async () => {
  const bench = await makeBench();
  const log = join(bench.dir, 'logs/main/0.log');
  const fill = (): void => {
    rmSync(log, { force: true });
    symlinkSync('/dev/full', log);
  };
  mkdirSync(dirname(log), { recursive: true });
  fill();
  const script = 'trap "exit 3" TERM; while :; do echo line; sleep 0.1; done';
  const id = await bench.run(['/bin/sh', '-c', script]);
  const container = bench.runtime.container(id);
  const tried = (): Promise<void> => new Promise((resolve) => container.onOutput(resolve));
  await expect.poll(() => readFileSync(join(container.runDir, 'stdout'), 'utf8')).toContain('line');
  await tried();
  rmSync(log);
  await bench.runtime.reopenContainerLog({ containerId: id });
  await bench.says(id, 'line\n');
  fill();
  await bench.runtime.reopenContainerLog({ containerId: id });
  await tried();
  await bench.runtime.stopContainer({ containerId: id, timeout: 5 });
  expect(await bench.status(id)).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 3 });
  await bench.end();
});
