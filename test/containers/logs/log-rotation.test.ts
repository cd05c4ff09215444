import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { LogRotation, partsToRemove } from '../../../src/containers/logs/log-rotation.ts';

let dir: string;
let logPath: string;
const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'log-rotation-'));
  logPath = join(dir, '0.log');
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const rotation = (reopen: () => Promise<void>): LogRotation =>
  new LogRotation(
    { clock, logger: silentLogger, reopen, runningContainers: () => Promise.resolve([{ id: 'c', logPath }]) },
    { maxBytes: 10, maxFiles: 3 },
  );
const reopened = (): Promise<void> => {
  writeFileSync(logPath, '');
  return Promise.resolve();
};

test.for([
  {
    names: ['a.log.1', 'a.log.2', 'a.log.3'],
    most: 1,
    gone: ['a.log.1', 'a.log.2'],
    why: 'the oldest go first',
  },
  {
    names: ['a.log.1', 'a.log.1.gz'],
    most: 5,
    gone: ['a.log.1'],
    why: 'a plain part whose compressed form exists goes',
  },
  {
    names: ['a.log.1.tmp'],
    most: 5,
    gone: ['a.log.1.tmp'],
    why: 'what an interrupted compression left goes',
  },
  { names: [], most: 0, gone: [], why: 'nothing goes where nothing is' },
])('$why', ({ names, most, gone }) => {
  expect(partsToRemove(names, most)).toEqual(gone);
});

test('a log within its size is left alone', async () => {
  writeFileSync(logPath, 'short');
  await rotation(reopened).rotateAll();
  expect(readdirSync(dir)).toEqual(['0.log']);
});

test('a log that is too large is cut, and an older part compressed', async () => {
  writeFileSync(logPath, 'first part, long enough');
  await rotation(reopened).rotateAll();
  clock.set(clock.now() + 1000);
  writeFileSync(logPath, 'second part, long enough');
  await rotation(reopened).rotateAll();
  expect(readdirSync(dir).sort()).toEqual(['0.log', '0.log.20260102-030405.gz', '0.log.20260102-030406']);
  expect(gunzipSync(readFileSync(join(dir, '0.log.20260102-030405.gz'))).toString()).toBe(
    'first part, long enough',
  );
});

test('no more parts stay than allowed', async () => {
  for (let i = 0; i < 6; i++) {
    clock.set(clock.now() + 1000);
    writeFileSync(logPath, `part ${i}, which is long enough`);
    await rotation(reopened).rotateAll();
  }
  expect(readdirSync(dir)).toHaveLength(3);
});

test('a runtime that cannot open the log anew keeps the old one, whole', async () => {
  writeFileSync(logPath, 'long enough to be cut');
  await rotation(() => Promise.reject(new Error('no'))).rotateAll();
  expect(readdirSync(dir)).toEqual(['0.log']);
  expect(readFileSync(logPath, 'utf8')).toBe('long enough to be cut');
});

test('a log that was taken away is opened anew', async () => {
  await rotation(reopened).rotateAll();
  expect(readdirSync(dir)).toEqual(['0.log']);
});
