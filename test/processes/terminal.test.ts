import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfThere } from '../../src/processes/files.ts';
import { isDead, readStat } from '../../src/processes/proc.ts';
import { processPowers } from '../../src/providers/process/powers.ts';
import { TerminalClient } from '../support/terminal-client.ts';
import { makeBench, type Bench } from '../providers/process/harness.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(async () => {
  await bench.end();
});

const ref = (id: string) => ({
  podUid: 'uid-1',
  namespace: 'default',
  pod: 'pod',
  container: 'main',
  id: `process://${id}`,
});

const never = new AbortController().signal;
const idle = ['sleep', '1000'];
const watching = 'trap "stty size" WINCH; echo up; while :; do sleep 0.05; done';

describe('exec with a terminal', () => {
  const exec = async (client: Pick<TerminalClient, 'io'>, line: string, signal = never): Promise<number> =>
    processPowers(bench.runtime).exec(ref(await bench.run(idle)), ['sh', '-c', line], client.io, signal);

  test('has the size of its client, and each later one, by SIGWINCH', async () => {
    const client = new TerminalClient(80, 24);
    const gone = new AbortController();
    const code = exec(client, `stty size; ${watching}`, gone.signal);
    await client.sees('24 80\r\nup');
    client.sizes.push({ width: 133, height: 43 });
    await client.sees('43 133');
    client.sizes.push({ width: 20, height: 5 });
    await client.sees('5 20');
    gone.abort();
    expect(await code).toBe(137);
  });

  test('a client without a size does not hold it up; one that comes late counts', async () => {
    const client = new TerminalClient();
    const gone = new AbortController();
    const code = exec(client, watching, gone.signal);
    await client.sees('up');
    client.sizes.push({ width: 99, height: 9 });
    await client.sees('9 99');
    gone.abort();
    await code;
  });

  test('Ctrl-C interrupts what is in the foreground, not its end', async () => {
    const client = new TerminalClient();
    const code = exec(client, 'trap "echo caught; exit 3" INT; echo up; while :; do sleep 0.05; done');
    await client.sees('up');
    client.stdin.write('\u0003');
    expect(await code).toBe(3);
    expect(client.seen).toContain('caught');
  });

  test.for([
    ['exit 0', 0],
    ['exit 7', 7],
    ['kill -TERM $$', 143],
  ] as const)('%s gives %i', async ([line, code]) => {
    expect(await exec(new TerminalClient(), line)).toBe(code);
  });

  test('the end of input is the end of the file', async () => {
    const client = new TerminalClient();
    const code = exec(client, 'echo up; cat >/dev/null; echo over');
    await client.sees('up');
    client.stdin.end('typed\n');
    expect(await code).toBe(0);
    expect(client.seen).toContain('over');
  });

  test('nothing that is printed is lost, however slowly it is read', async () => {
    const { io } = new TerminalClient();
    const slow = new PassThrough({ highWaterMark: 1024 });
    const code = exec({ io: { ...io, stdout: slow } }, 'seq 1 20000');
    let text = '';
    slow.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    slow.pause();
    setImmediate(() => slow.resume());
    expect(await code).toBe(0);
    expect(text.split('\r\n')).toHaveLength(20_001);
  });

  test('ends with its client, even what takes no notice of a lost terminal', async () => {
    const client = new TerminalClient();
    const gone = new AbortController();
    const code = exec(client, 'trap "" HUP TERM; echo "pid=$$"; while :; do sleep 0.05; done', gone.signal);
    await client.sees('\r\n');
    const pid = Number(/pid=(\d+)/.exec(client.seen)?.[1]);
    gone.abort();
    await code;
    await expect.poll(() => isThere(pid), { timeout: 10_000 }).toBe(false);
  });

  test('ends with a client that leaves before the agent has read which process leads the terminal', async () => {
    const file = join(bench.dir, 'pid');
    const gone = new AbortController();
    const line = `trap "" HUP TERM; echo "$$" >${file}; while :; do sleep 0.05; done`;
    const code = exec(new TerminalClient(), line, gone.signal);
    await expect.poll(children, { interval: 1 }).toMatch(/script/);
    // The event loop stands still here, so that nothing is read from the terminal's process before the abort.
    const pid = blockUntil(() => Number(readIfThere(file)?.trim() ?? 0));
    gone.abort();
    await code;
    await expect.poll(() => isThere(pid), { timeout: 10_000 }).toBe(false);
  });

  test('100 of them leave neither descriptors nor processes behind', async () => {
    const id = await bench.run(idle);
    const once = async (): Promise<void> => {
      const client = new TerminalClient(80, 24);
      expect(await processPowers(bench.runtime).exec(ref(id), ['true'], client.io, never)).toBe(0);
    };
    await once();
    const before = openFiles();
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 10 }, once));
    await expect.poll(openFiles, { timeout: 10_000 }).toBeLessThanOrEqual(before);
    await expect.poll(children, { timeout: 10_000 }).not.toMatch(/script|stty/);
  });
});

describe('a container with a terminal', () => {
  test('attach types and sees', async () => {
    const id = await bench.run(
      ['sh', '-c', 'stty -echo; echo up; while read -r word; do echo "got $word"; done'],
      {
        stdin: true,
        tty: true,
      },
    );
    await bench.says(id, 'up');
    const client = new TerminalClient(70, 21);
    const gone = new AbortController();
    const attached = processPowers(bench.runtime).attach(ref(id), client.io, gone.signal);
    client.stdin.write('hello\n');
    await client.sees('got hello');
    gone.abort();
    await attached;
    expect((await bench.status(id)).state).toBe(1);
  });

  test('attach gives it the size of the client, and each later one', async () => {
    const id = await bench.run(['sh', '-c', watching], { tty: true });
    await bench.says(id, 'up');
    const client = new TerminalClient(70, 21);
    const gone = new AbortController();
    const attached = processPowers(bench.runtime).attach(ref(id), client.io, gone.signal);
    await client.sees('21 70');
    client.sizes.push({ width: 101, height: 31 });
    await client.sees('31 101');
    gone.abort();
    await attached;
  });

  test('lives on when the agent is replaced, and is attached to again', async () => {
    const id = await bench.run(['sh', '-c', 'echo up; while read -r word; do echo "got $word"; done'], {
      stdin: true,
      tty: true,
    });
    await bench.says(id, 'up');
    await bench.restart();
    const client = new TerminalClient(70, 21);
    const gone = new AbortController();
    const attached = processPowers(bench.runtime).attach(ref(id), client.io, gone.signal);
    client.stdin.write('hello\n');
    await client.sees('got hello');
    gone.abort();
    await attached;
  });

  test('has its own exit code and is stopped by its own handler', async () => {
    const id = await bench.run(
      ['sh', '-c', 'trap "echo bye; exit 5" TERM; tty; echo up; while :; do sleep 0.05; done'],
      {
        tty: true,
      },
    );
    await bench.says(id, 'up');
    expect(bench.log()).toMatch(/stdout F \/dev\/pts\/\d+/);
    await bench.runtime.stopContainer({ containerId: id, timeout: 10 });
    expect(await bench.status(id)).toMatchObject({ exitCode: 5, reason: 'Error' });
    expect(bench.log()).toContain('bye');
  });

  test('waits for input that never comes', async () => {
    const id = await bench.run(['sh', '-c', 'echo up; read -r word; echo over'], { tty: true });
    await bench.says(id, 'up');
    expect((await bench.status(id)).state).toBe(1);
  });
});

const openFiles = (): number => readdirSync('/proc/self/fd').length;
/** What the processes are, dead ones too, whose parent is this one. */
const children = (): string =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
    .map((pid) => readIfThere(`/proc/${pid}/stat`) ?? '')
    .join('');
/** Blocks the thread until a value is there, 10 s at most. */
function blockUntil(value: () => number): number {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < 1000; round++) {
    const current = value();
    if (current > 0) return current;
    Atomics.wait(cell, 0, 0, 10);
  }
  throw new Error('nothing came within 10 s');
}

/** The dead that wait for init to collect them are not there. */
function isThere(pid: number): boolean {
  const stat = readStat(pid);
  return stat !== undefined && !isDead(stat);
}
