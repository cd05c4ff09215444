import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pinoLogger } from '../../src/base/pino-logger.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-log-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

test('a log on a full disk ends nobody, and says so once', async () => {
  const path = join(dir, 'log');
  symlinkSync('/dev/full', path);
  const told: string[] = [];
  const listener = ({ message }: Error): void => void told.push(message);
  process.on('warning', listener);
  const warned = once(process, 'warning');
  const logger = pinoLogger('info', path);
  for (let i = 0; i < 5000; i++) logger.info('a line that nobody will read', { i });
  await warned;
  process.off('warning', listener);
  expect(told).toEqual([`the log ${path} cannot be written: write: no space left on device`]);
});

test('standard error on a full disk ends nobody', () => {
  const module = new URL('../../src/base/pino-logger.ts', import.meta.url).pathname;
  const program = `
    import { pinoLogger } from '${module}';
    const logger = pinoLogger('info');
    for (let i = 0; i < 5000; i++) logger.info('a line that nobody will read');
    setImmediate(() => console.log('lives'));`;
  const shell = 'exec "$0" --input-type=module --eval "$1" 2>/dev/full';
  const { status, stdout } = spawnSync('/bin/sh', ['-c', shell, process.execPath, program], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  expect([status, stdout]).toEqual([0, 'lives\n']);
});

test('the level can be set later, for all that was made of the logger', () => {
  const path = join(dir, 'level');
  const logger = pinoLogger('info', path);
  const child = logger.with({ pod: 'ns/p' });
  child.debug('unheard');
  logger.level = 'debug';
  child.debug('heard');
  logger.level = 'silent';
  child.error('unheard');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ msg: 'heard', pod: 'ns/p' });
});

test('secrets are not written', () => {
  const path = join(dir, 'folder/log');
  pinoLogger('info', path)
    .with({ pod: 'ns/p' })
    .warn('who asks', { token: 'abc', user: { password: 'def' } });
  const line = JSON.parse(readFileSync(path, 'utf8')) as object;
  expect(line).toMatchObject({ pod: 'ns/p', msg: 'who asks', token: '[Redacted]' });
  expect(JSON.stringify(line)).not.toMatch(/abc|def/);
});
