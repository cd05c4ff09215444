import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDataDir } from '../../src/app/data-dir.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'data-dir-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const lock = (): string => join(dir, 'agent.lock');
const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
const here = `${boot} ${hostname()}`;

function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
}

describe('who holds a data directory', () => {
  test('a process that runs does', async () => {
    const other = spawn('sleep', ['60']);
    writeFileSync(lock(), `${other.pid!} ${startOf(other.pid!)}\n${here}`);
    expect(() => openDataDir(dir)).toThrow(
      `data directory ${dir} is in use by process ${other.pid!}; stop it, or choose another with --data-dir`,
    );
    other.kill();
    await once(other, 'exit');
    openDataDir(dir).release();
  });

  test('a zombie does not', async () => {
    // a parent that waits for nobody: the child that it kills stays a zombie
    const parent = spawn('python3', [
      '-c',
      'import os,time\npid=os.fork()\nif pid==0: time.sleep(60)\nos.kill(pid,9)\nos.waitid(os.P_PID,pid,os.WEXITED|os.WNOWAIT)\nprint(pid,flush=True)\ntime.sleep(60)',
    ]);
    const [said] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(said.toString());
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
    writeFileSync(lock(), `${pid} ${startOf(pid)}\n${here}`);
    openDataDir(dir).release();
    parent.kill();
  });

  test('a process that got the id of an ended one does not', () => {
    writeFileSync(lock(), `1 ${Number(startOf(1)) + 7}\n${here}`);
    openDataDir(dir).release();
  });

  test('an agent whose process cannot be seen (of another container, or hidden) does until it dies', async () => {
    openDataDir(dir).release();
    const other = spawn('sh', ['-c', 'exec 3<>"$0"; echo; exec sleep 60', join(dir, 'agent.alive')]);
    await once(other.stdout, 'data');
    writeFileSync(lock(), `4194300 17\n${boot} elsewhere`);
    expect(() => openDataDir(dir)).toThrow(/is in use by process 4194300 of another container;/);
    other.kill('SIGKILL');
    await once(other, 'exit');
    openDataDir(dir).release();
  });

  test('an agent of another host does while it renews its lock', () => {
    const clock = new FakeClock(Date.parse('2026-11-25T08:00:00Z'));
    const renewed = (secondsAgo: number): void => {
      writeFileSync(lock(), '77 17\nother-boot other-host');
      utimesSync(lock(), clock.now() / 1000 - secondsAgo, clock.now() / 1000 - secondsAgo);
    };
    renewed(20);
    expect(() => openDataDir(dir, clock)).toThrow(/is in use by process 77 of host other-host;/);
    renewed(100);
    openDataDir(dir, clock).release();
  });

  test('an agent of this host before it was started anew does not', () => {
    writeFileSync(lock(), `77 17\nother-boot ${hostname()}`);
    openDataDir(dir).release();
  });

  test('no process does when the lock is empty', () => {
    writeFileSync(lock(), '');
    openDataDir(dir).release();
  });
});

describe('a directory that goes away under its agent', () => {
  test.for<readonly [string, () => void, string]>([
    [
      'deleted',
      () => {
        rmSync(dir, { recursive: true });
      },
      'was deleted',
    ],
    [
      'replaced',
      () => {
        renameSync(dir, `${dir}-old`);
        mkdirSync(dir);
        writeFileSync(lock(), 'x');
        rmSync(`${dir}-old`, { recursive: true });
      },
      'was replaced by another',
    ],
    [
      'emptied',
      () => {
        rmSync(lock());
      },
      'was emptied: its lock is gone',
    ],
    [
      'claimed',
      () => {
        writeFileSync(lock(), '1 1\nx y');
      },
      'was claimed by another agent',
    ],
  ])('%s', async ([, lose, fault]) => {
    const clock = new FakeClock(0);
    const data = openDataDir(dir, clock);
    const told: string[] = [];
    data.watch((what) => told.push(what));
    await clock.advance(60_000);
    expect([told, data.fault()]).toEqual([[], undefined]);
    lose();
    await clock.advance(60_000);
    expect([told, data.fault()]).toEqual([[fault], fault]);
    data.release();
  });

  test('its lock is renewed meanwhile', async () => {
    const clock = new FakeClock(Date.now() + 3_600_000);
    const data = openDataDir(dir, clock);
    data.watch(() => undefined);
    await clock.advance(30_000);
    const renewed = statSync(lock()).mtimeMs;
    expect(clock.now() - renewed).toBeLessThan(25_000);
    await clock.advance(30_000);
    expect(statSync(lock()).mtimeMs - renewed).toBeGreaterThanOrEqual(20_000);
    data.release();
  });
});

test.skipIf(process.getuid!() === 0)(
  'a directory that may not be written is refused in the words of the system',
  () => {
    chmodSync(dir, 0o500);
    expect(() => openDataDir(dir)).toThrow(/cannot be used: access .*: permission denied; choose another/);
  },
);
