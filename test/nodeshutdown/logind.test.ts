import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { LogindShutdown } from '../../src/nodeshutdown/logind.ts';
import { hostPrograms, type Programs } from '../../src/base/programs.ts';

const dir = mkdtempSync(join(tmpdir(), 'logind-'));
const overrideFile = join(dir, 'conf.d/99-test.conf');
afterAll(() => {
  rmSync(dir, { recursive: true });
});

interface Started {
  readonly command: string;
  print(line: string): void;
  end(why: string): void;
}

/** The programs of a machine that is told what they do. */
class Machine implements Programs {
  readonly ran: string[] = [];
  readonly started: Started[] = [];
  readonly inputsClosed: string[] = [];
  delaySeconds = 5;
  afterReload = 5;
  fault: Error | undefined;
  givesLocks = true;

  async output(program: string, args: readonly string[]): Promise<string> {
    this.ran.push([program, ...args].join(' '));
    if (this.fault) throw this.fault;
    if (args.includes('KillUnit')) this.delaySeconds = this.afterReload;
    return args.includes('get-property') ? `t ${this.delaySeconds * 1e6}\n` : '';
  }

  start(
    program: string,
    args: readonly string[],
    onLine: (line: string) => void,
  ): ReturnType<Programs['start']> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.started.push({ command: [program, ...args].join(' '), print: onLine, end: resolve });
    if (this.givesLocks && program === 'systemd-inhibit')
      queueMicrotask(() => {
        onLine('held');
      });
    return {
      ended: promise,
      closeInput: () => {
        this.inputsClosed.push(program);
        resolve('input closed');
      },
      stop: () => {
        resolve('stopped');
      },
    };
  }
}

let clock = new FakeClock();
let machine = new Machine();
let faults: string[] = [];
beforeEach(() => {
  clock = new FakeClock();
  machine = new Machine();
  faults = [];
});

const source = (graceSeconds: number): LogindShutdown => {
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: Readonly<Record<string, unknown>>) =>
      void faults.push(`${message}: ${String(fields?.['err'])}`),
  };
  return new LogindShutdown({ clock, logger, programs: machine }, { graceSeconds, overrideFile });
};

const told = (starting: unknown, member = 'PrepareForShutdown'): string =>
  JSON.stringify({ type: 'signal', sender: ':1.0', member, payload: { type: 'b', data: [starting] } });

test('the begin and the cancellation of a shutdown are reported as logind announces them', () => {
  const heard: boolean[] = [];
  const stop = source(5).onShutdown((starting) => heard.push(starting));
  const [monitor] = machine.started;
  for (const line of [told(true), 'no JSON', told(true, 'PrepareForSleep'), told(1), '{}', told(false)])
    monitor?.print(line);
  expect(heard).toEqual([true, false]);
  expect(monitor?.command).not.toContain('sender=');
  stop();
  monitor?.print(told(true));
  expect(heard).toHaveLength(2);
});

test('signals of other senders are ignored when only logind is trusted', () => {
  const deps = { clock, logger: silentLogger, programs: machine };
  new LogindShutdown(deps, { graceSeconds: 5, byLogindOnly: true }).onShutdown(() => undefined);
  expect(machine.started[0]?.command).toContain("sender='org.freedesktop.login1'");
});

test('a bus that breaks off is listened to again after a second, and its fault is said once', async () => {
  source(5).onShutdown(() => undefined);
  for (let round = 1; round <= 3; round++) {
    machine.started[round - 1]?.end('Failed to connect');
    await clock.advance(999);
    expect(machine.started).toHaveLength(round);
    await clock.advance(1);
    expect(machine.started).toHaveLength(round + 1);
  }
  expect(faults).toEqual(['shutdowns of the machine cannot be observed: Failed to connect']);
  await clock.advance(60_000);
  machine.started[3]?.end('Failed to connect');
  await settle();
  expect(faults).toHaveLength(2);
});

test('who stops listening ends the monitor for good', async () => {
  const stop = source(5).onShutdown(() => undefined);
  stop();
  await clock.advance(10_000);
  expect(machine.started).toHaveLength(1);
  expect(faults).toEqual([]);
});

test('a lock holds a shutdown up until it is let go', async () => {
  const release = await source(5).delay();
  expect(machine.started[0]?.command).toMatch(/^systemd-inhibit --what=shutdown --mode=delay /);
  expect(machine.ran).toHaveLength(1);
  await release();
  expect(machine.inputsClosed).toEqual(['systemd-inhibit']);
  expect(faults).toEqual([]);
});

test('a lock that is lost is said', async () => {
  await source(5).delay();
  machine.started[0]?.end('killed');
  await settle();
  expect(faults).toEqual(['the lock that delays a shutdown is lost: killed']);
});

test('a lock that is refused is an error', async () => {
  machine.givesLocks = false;
  const taken = source(5).delay();
  await settle();
  machine.started[0]?.end('Failed to inhibit: Access denied');
  await expect(taken).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('Access denied') as string,
  });
});

test('logind’s maximum delay is raised when it is too short', async () => {
  machine.afterReload = 45;
  await source(45).delay();
  expect(readFileSync(overrideFile, 'utf8')).toBe('# Written by podtender\n[Login]\nInhibitDelayMaxSec=45\n');
  expect(machine.ran[1]).toMatch(/KillUnit ssi systemd-logind\.service all 1$/);
});

test('without the delay that it needs there is no lock', async () => {
  machine.afterReload = 30;
  await expect(source(45).delay()).rejects.toThrow(
    'node shutdown manager was unable to update logind InhibitDelayMaxSec to 45s (ShutdownGracePeriod), current value of InhibitDelayMaxSec (30s) is less than requested ShutdownGracePeriod',
  );
  expect(machine.started).toEqual([]);
});

test('a machine without logind is an error', async () => {
  machine.fault = new Error('No such file or directory');
  await expect(source(45).delay()).rejects.toThrow('No such file');
});

test('a configuration that cannot be written is an error', async () => {
  writeFileSync(join(dir, 'file'), '');
  const refused = new LogindShutdown(
    { clock, logger: silentLogger, programs: machine },
    { graceSeconds: 45, overrideFile: join(dir, 'file/99.conf') },
  );
  await expect(refused.delay()).rejects.toThrow('logind cannot be configured');
});

// The machine's own programs: each takes as long as a process needs.
test('a program that answers is read, one that fails says why', async () => {
  expect(await hostPrograms.output('echo', ['a', 'b'])).toBe('a b\n');
  await expect(hostPrograms.output('sh', ['-c', 'echo wrong >&2; exit 1'])).rejects.toThrow('sh: wrong');
  await expect(hostPrograms.output('podtender-no-such-program', [])).rejects.toThrow(
    'executable file not found in $PATH',
  );
});

test('a program that goes on tells its lines and ends with its input', async () => {
  const { promise: line, resolve } = Promise.withResolvers<string>();
  const program = hostPrograms.start('sh', ['-c', 'echo held; exec cat'], resolve);
  expect(await line).toBe('held');
  program.closeInput();
  expect(await program.ended).toBe('sh ended with 0');
});

test('a program is ended when asked to, and one that is not there ends at once', async () => {
  const program = hostPrograms.start('sleep', ['1000'], () => undefined);
  program.stop();
  expect(await program.ended).toBe('sleep ended with SIGTERM');
  const missing = hostPrograms.start('podtender-no-such-program', [], () => undefined);
  expect(await missing.ended).toContain('executable file not found in $PATH');
});
