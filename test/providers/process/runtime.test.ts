import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ContainerEventType, ContainerState, Signal } from '../../../src/provider/cri-messages.ts';
import { execStreams } from '../../../src/processes/exec.ts';
import { isDead, readStat } from '../../../src/processes/proc.ts';
import { soon } from '../../support/found.ts';
import { makeBench, nextEvent, type Bench } from './harness.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(async () => {
  await bench.end();
});

const contents = (): string[] =>
  bench
    .log()
    .split('\n')
    .map((line) => line.split(' ').slice(1).join(' '));

describe('a container that ends by itself', () => {
  test.for([
    ['exit 0', 0, 'Completed'],
    ['exit 7', 7, 'Error'],
    ['kill -KILL $$', 137, 'Error'],
    ['kill -INT $$', 130, 'Error'],
  ] as const)('%s is reported as exit code %i, %s', async ([script, exitCode, reason]) => {
    const id = await bench.run(['sh', '-c', script]);
    const status = await bench.exited(id);
    expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode, reason });
    expect(status.finishedAt).toBeGreaterThanOrEqual(status.startedAt ?? Infinity);
  });

  test('its output is in CRI log format when it is reported as ended, last line without newline included', async () => {
    const id = await bench.run(['sh', '-c', 'echo out; echo err >&2; printf tail']);
    await bench.exited(id);
    expect(bench.log()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z std/);
    expect(contents().sort()).toEqual(['', 'stderr F err', 'stdout F out', 'stdout P tail']);
  });

  test('takes its whole group and even its daemons along', async () => {
    const id = await bench.run(['sh', '-c', 'sleep 1000 & echo $!; setsid sleep 1000 & echo $!; exit 3']);
    expect(await bench.exited(id)).toMatchObject({ exitCode: 3 });
    const pids = contents()
      .filter((line) => line !== '')
      .map((line) => Number(line.split(' ')[2]));
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect([undefined, 'Z']).toContain(readStat(pid)?.state);
  });
});

describe('a container that runs', () => {
  test('is the leader of its own session and group, under its own pid', async () => {
    const id = await bench.run(['sleep', '1000']);
    const { info } = await bench.runtime.containerStatus({ containerId: id, verbose: true });
    const stat = readStat(Number(info?.['pid']));
    expect(stat).toMatchObject({ processGroup: stat?.pid, session: stat?.pid });
    expect(await bench.status(id)).toMatchObject({ state: ContainerState.CONTAINER_RUNNING, finishedAt: 0 });
  });

  test('has exactly its own environment, odd names and values included', async () => {
    const value = (text: string): Uint8Array => Buffer.from(text);
    const envs = [
      { key: 'A', value: value(`it's "q" $HOME \n2nd`) },
      { key: 'my.var', value: value('dotted') },
      { key: 'UID', value: value('77') },
    ];
    const script =
      'const e = process.env; console.log(JSON.stringify([e.A, e["my.var"], e.UID, e.HOSTNAME, e.VITEST]))';
    const id = await bench.run([process.execPath, '-e', script], { envs });
    await bench.exited(id);
    expect(contents()[0]).toBe(
      `stdout F ${JSON.stringify([`it's "q" $HOME \n2nd`, 'dotted', '77', 'pod', null])}`,
    );
  });

  test('starts in its own directory, or in the one it asks for', async () => {
    const own = await bench.run(['pwd']);
    await bench.exited(own);
    expect(contents()[0]).toBe(`stdout F ${join(bench.runtime.container(own).dir, 'root')}`);
  });

  test('sees a mount as a link below its root and by a variable', async () => {
    const hostPath = join(bench.dir, 'volume');
    mkdirSync(hostPath);
    writeFileSync(join(hostPath, 'key'), 'value\n');
    const mounts = [{ containerPath: '/etc/app', hostPath }];
    const script = 'cat etc/app/key "$PODTENDER_ROOT/etc/app/key" "$PODTENDER_MOUNT_ETC_APP/key"';
    await bench.exited(await bench.run(['sh', '-c', script], { mounts }));
    expect(contents()).toEqual(['stdout F value', 'stdout F value', 'stdout F value', '']);
  });

  test('has stats of its group', async () => {
    const id = await bench.run(['sh', '-c', 'sleep 1000 & sleep 1000']);
    const statsNow = async () => (await bench.runtime.containerStats({ containerId: id })).stats;
    // a process that has just been made has next to nothing
    await soon('it has memory', async () => Number((await statsNow())?.memory?.rssBytes?.value) > 100_000);
    expect((await statsNow())?.cpu?.usageCoreNanoSeconds?.value).toBeGreaterThanOrEqual(0);
  });
});

describe('stopping', () => {
  test('sends the stop signal and takes the exit code that follows', async () => {
    const id = await bench.run(['sh', '-c', 'trap "exit 5" USR1; echo ready; while :; do sleep 0.05; done'], {
      stopSignal: Signal.SIGUSR1,
    });
    await bench.says(id, 'ready');
    await bench.runtime.stopContainer({ containerId: id, timeout: 10 });
    expect(await bench.status(id)).toMatchObject({ exitCode: 5, reason: 'Error' });
  });

  test('kills what ignores the stop signal once the timeout is over', async () => {
    const id = await bench.run(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
    await bench.says(id, 'ready');
    await bench.runtime.stopContainer({ containerId: id, timeout: 1 });
    expect(await bench.status(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
  });

  test('a second call with a shorter timeout wins', async () => {
    const id = await bench.run(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
    await bench.says(id, 'ready');
    const slow = bench.runtime.stopContainer({ containerId: id, timeout: 100 });
    await bench.runtime.stopContainer({ containerId: id, timeout: 0 });
    await slow;
    expect(await bench.status(id)).toMatchObject({ exitCode: 137 });
  });

  test('stopping a sandbox ends its containers and makes it not ready', async () => {
    const id = await bench.run(['sleep', '1000']);
    await bench.runtime.stopPodSandbox({ podSandboxId: bench.sandboxId });
    expect(await bench.status(id)).toMatchObject({ exitCode: 137 });
    const { status } = await bench.runtime.podSandboxStatus({ podSandboxId: bench.sandboxId });
    expect(status).toMatchObject({ state: 1, network: { ip: '10.0.0.1' } });
  });
});

describe('a container that cannot start', () => {
  test.for([
    ['a missing program', ['nosuchprogram'], 'exec: "nosuchprogram": executable file not found in $PATH'],
    ['a missing path', ['/no/such'], 'exec: "/no/such": stat /no/such: no such file or directory'],
    ['a file that is not executable', ['/etc/passwd'], 'exec: "/etc/passwd": permission denied'],
    ['a directory', ['/etc'], 'exec: "/etc": is a directory'],
  ] as const)('%s is a StartError with 128', async ([, command, fault]) => {
    await expect(bench.run(command)).rejects.toThrow(fault);
    const { containers } = await bench.runtime.listContainers({});
    const status = await bench.status(containers?.[0]?.id ?? '');
    expect(status).toMatchObject({ exitCode: 128, reason: 'StartError', startedAt: 0 });
    expect(status.message).toContain(fault);
  });

  test('a program that is no program is said to have a format error', async () => {
    const path = join(bench.dir, 'text');
    writeFileSync(path, 'not a program');
    chmodSync(path, 0o755);
    await expect(bench.run([path])).rejects.toThrow('exec format error');
  });

  test('without command and with an unknown image it is not even created', async () => {
    await expect(bench.create({ metadata: { name: 'main' }, image: { image: 'nginx' } })).rejects.toThrow(
      'container "main" has no command and image "nginx" names no program of this host',
    );
  });
});

test('an image that maps to a host program needs no command', async () => {
  const id = await bench.run([], { image: { image: 'docker.io/library/node:24' }, args: ['-p', '6*7'] });
  await bench.exited(id);
  expect(contents()[0]).toBe('stdout F 42');
});

describe('exec', () => {
  test('runs beside the container, in its environment and directory', async () => {
    const id = await bench.run(['sleep', '1000'], { envs: [{ key: 'K', value: Buffer.from('v') }] });
    const answer = await bench.runtime.execSync({
      containerId: id,
      cmd: ['sh', '-c', 'echo $K; pwd; exit 4'],
    });
    expect(answer.exitCode).toBe(4);
    expect(answer.stdout?.toString()).toBe(`v\n${join(bench.runtime.container(id).dir, 'root')}\n`);
  });

  test('is killed with its group at its timeout', async () => {
    const id = await bench.run(['sleep', '1000']);
    const exec = bench.runtime.execSync({ containerId: id, cmd: ['sh', '-c', 'sleep 1000; :'], timeout: 1 });
    await expect(exec).rejects.toMatchObject({ code: 'deadline_exceeded' });
  });

  // it leaves the group and keeps the streams, so that neither its group's end nor theirs comes
  /** Prints its own id and that of a process that it leaves behind in a session of its own. */
  const stray = ['sh', '-c', "echo $$; setsid sh -c 'echo $$; exec sleep 60' & exit 3"];
  const idsOf = (stdout: Uint8Array | undefined): readonly number[] =>
    Buffer.from(stdout ?? [])
      .toString()
      .trim()
      .split('\n')
      .map(Number);
  const end = (stdout: Uint8Array | undefined): boolean => process.kill(idsOf(stdout).at(-1) ?? 0, 'SIGKILL');

  test('ends at its timeout also when a process that it left behind holds its streams', async () => {
    const id = await bench.run(['sleep', '1000']);
    const { exitCode, stdout } = await bench.runtime.execSync({ containerId: id, cmd: stray, timeout: 1 });
    expect(exitCode).toBe(3);
    end(stdout);
  });

  test('without a timeout ends when it is called off', async () => {
    const id = await bench.run(['sleep', '1000']);
    const stop = new AbortController();
    const exec = bench.runtime.execSync({ containerId: id, cmd: ['sleep', '1000'] }, { signal: stop.signal });
    setTimeout(() => {
      stop.abort();
    }, 100);
    await expect(exec).rejects.toThrow('aborted');
    await expect(
      bench.runtime.execSync({ containerId: id, cmd: ['true'] }, { signal: stop.signal }),
    ).rejects.toThrow('aborted');
  });

  test('with streams ends when it is called off, whoever holds them', async () => {
    const id = await bench.run(['sleep', '1000']);
    const stop = new AbortController();
    const stdout = new PassThrough();
    const exec = execStreams(bench.runtime.execPlan(id, stray), { stdout }, stop.signal);
    let said = Buffer.alloc(0);
    stdout.on('data', (chunk: Buffer) => {
      said = Buffer.concat([said, chunk]);
    });
    await soon('both have said who they are', () => said.toString().split('\n').length > 2);
    await soon('the command has ended', () => isDead(readStat(idsOf(said)[0] ?? 0)));
    stop.abort();
    expect(await exec).toBe(3);
    end(said);
  });

  test('of a missing program says so', async () => {
    const id = await bench.run(['sleep', '1000']);
    await expect(bench.runtime.execSync({ containerId: id, cmd: ['nosuch'] })).rejects.toThrow(
      'exec: "nosuch": executable file not found in $PATH',
    );
  });
});

describe('a runtime that is closed while another one takes its containers over in the same process', () => {
  test('neither changes the outcome that the other one has stored, nor writes to the log', async () => {
    const id = await bench.run([
      'sh',
      '-c',
      'echo up; until [ -e ../go ]; do sleep 0.01; done; echo end; exit 3',
    ]);
    await bench.says(id, 'up');
    const before = bench.runtime.container(id);
    await bench.restart();
    writeFileSync(join(bench.dir, 'process/containers', id, 'go'), '');
    expect(await bench.exited(id)).toMatchObject({ exitCode: 3, reason: 'Error' });
    await before.look(true); // as when the exit of its child process is reported to it
    expect(before.outcome).toBeUndefined();
    await bench.restart();
    expect(await bench.status(id)).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(contents()).toEqual(['stdout F up', 'stdout F end', '']);
  });

  test('ends its waits', async () => {
    const id = await bench.run(['sleep', '1000']);
    const before = bench.runtime.container(id);
    const end = before.ended();
    await bench.restart();
    await expect(end).rejects.toMatchObject({ code: 'cancelled' });
    await expect(before.stop(15, 1000)).rejects.toThrow(`the runtime of container ${id} is closed`);
    expect((await bench.status(id)).state).toBe(ContainerState.CONTAINER_RUNNING);
  });
});

test('every change is an event: created, started, stopped, deleted', async () => {
  const types: (number | undefined)[] = [];
  bench.runtime.events.on('change', (uid, event) => {
    expect(uid).toBe('uid-1');
    types.push(event.containerEventType);
  });
  const stopped = nextEvent(bench.runtime, ContainerEventType.CONTAINER_STOPPED_EVENT);
  const id = await bench.run(['true']);
  await stopped;
  await bench.runtime.removeContainer({ containerId: id });
  expect(types).toEqual([0, 1, 2, 3]);
});
