import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AgentError } from '../../src/base/errors.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Programs } from '../../src/base/programs.ts';
import { type ServiceEnvironment, SystemdService } from '../../src/node/watchdog.ts';

const pid = 4711;
const socket = { NOTIFY_SOCKET: '/run/systemd/notify' };

/** A service whose `systemd-notify` fails as often as said. */
function serviceOf(env: ServiceEnvironment, failures = 0) {
  const clock = new FakeClock();
  const told: string[] = [];
  const errors: string[] = [];
  let left = failures;
  const output: Programs['output'] = (program, args) => {
    told.push(`${clock.now()} ${[program, ...args].join(' ')}`);
    return left-- > 0 ? Promise.reject(new AgentError('unavailable', 'no room')) : Promise.resolve('');
  };
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: object) => errors.push(`${message} ${JSON.stringify(fields)}`),
  };
  const programs = { output, start: vi.fn() };
  const service = new SystemdService(env, { clock, logger, pid, programs });
  return { service, clock, told, errors };
}

const stop = new AbortController();

test('the start is reported to systemd', async () => {
  const { service, told } = serviceOf(socket);
  await service.started();
  expect(told).toEqual(['0 systemd-notify --ready']);
  const alone = serviceOf({});
  await alone.service.started();
  expect(alone.told).toEqual([]);
  const deaf = serviceOf(socket, 1);
  await deaf.service.started();
  expect(deaf.errors).toEqual(['systemd could not be notified {"err":"no room"}']);
});

test('signs of life come twice in the time of the watchdog, and none while something is wrong', async () => {
  const { service, clock, told, errors } = serviceOf({
    ...socket,
    WATCHDOG_USEC: '20000000',
    WATCHDOG_PID: '4711',
  });
  let fault: string | undefined;
  const end = new AbortController();
  const watching = service.watch(() => fault, end.signal);
  await clock.advance(15_000);
  fault = 'stuck';
  await clock.advance(10_000);
  fault = undefined;
  await clock.advance(10_000);
  const sign = (at: number): string => `${at} systemd-notify WATCHDOG=1`;
  expect(told).toEqual([sign(0), sign(10_000), sign(30_000)]);
  expect(errors).toEqual(['no keep-alive is sent to systemd: the agent is unhealthy {"err":"stuck"}']);
  end.abort();
  await watching;
  expect(clock.pending).toBe(0);
});

test('a sign that could not be given is given again a second later, once', async () => {
  const { service, clock, told, errors } = serviceOf({ ...socket, WATCHDOG_USEC: '20000000' }, 3);
  void service.watch(() => undefined, stop.signal);
  await clock.advance(12_000);
  expect(told.map((line) => line.split(' ')[0])).toEqual(['0', '1000', '11000', '12000']);
  expect(errors).toEqual(['systemd could not be notified {"err":"no room"}']);
});

test('no keep-alive is sent without a watchdog, or for one of another process', async () => {
  for (const env of [socket, { ...socket, WATCHDOG_USEC: '20000000', WATCHDOG_PID: '1' }]) {
    const { service, clock, told } = serviceOf(env);
    await service.watch(() => undefined, stop.signal);
    expect([told, clock.pending]).toEqual([[], 0]);
  }
  const { service, errors } = serviceOf({ WATCHDOG_USEC: '20000000' });
  void service.watch(() => undefined, stop.signal);
  await vi.waitFor(() => {
    expect(errors).toEqual(['systemd could not be notified {"err":"NOTIFY_SOCKET is not set"}']);
  });
});

test.each([
  [{ WATCHDOG_USEC: 'x' }, 'WATCHDOG_USEC=x should be a whole number above 0'],
  [{ WATCHDOG_USEC: '0' }, 'WATCHDOG_USEC=0 should be a whole number above 0'],
  [{ WATCHDOG_USEC: '9000000', WATCHDOG_PID: '-1' }, 'WATCHDOG_PID=-1 should be a whole number above 0'],
  [
    { WATCHDOG_USEC: '1000000' },
    'WATCHDOG_USEC=1000000 is too little: WatchdogSec= should be more than a second',
  ],
])('%o is refused', (env, message) => {
  expect(() => serviceOf(env)).toThrow(expect.objectContaining({ code: 'invalid_argument', message }));
});

/** Listens as systemd does, and prints who sent what. */
const listener = `
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    data, parts, _, _ = s.recvmsg(4096, 1024)
    pids = [struct.unpack('iii', p[2][:12])[0] for p in parts if p[1] == socket.SCM_CREDENTIALS]
    print(pids[0], data.decode().split('\\n')[0], flush=True)
`;
const missing = ['systemd-notify', 'python3'].filter((name) => spawnSync(name, ['--version']).error);
const why = missing.length > 0 ? ` (skipped: no ${missing.join(', ')})` : '';

describe.skipIf(missing.length > 0)(`with systemd's own program${why}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'notify-'));
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(dir, { recursive: true });
  });

  test('systemd hears it from this process', async () => {
    const path = join(dir, 'socket');
    const systemd = spawn('python3', ['-c', listener, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: systemd.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => (await lines.next()).value;
    expect(await next()).toBe('listening');
    vi.stubEnv('NOTIFY_SOCKET', path);
    const end = new AbortController();
    const deps = { clock: systemClock, logger: silentLogger, pid: process.pid };
    const service = new SystemdService({ NOTIFY_SOCKET: path, WATCHDOG_USEC: '60000000' }, deps);
    void service.started();
    // only root can speak for its parent
    const from = process.getuid?.() === 0 ? String(process.pid) : '\\d+';
    expect(await next()).toMatch(new RegExp(`^${from} READY=1$`));
    const watching = service.watch(() => undefined, end.signal);
    let heard = await next();
    if (String(heard).includes('BARRIER')) heard = await next();
    expect(heard).toMatch(new RegExp(`^${from} WATCHDOG=1$`));
    end.abort();
    await watching;
    systemd.kill();
  });
});
