import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AtomicWriter } from '../../src/containers/volumes/atomic-writer.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-payload-'));
  mkdirSync(join(dir, 'volume'));
  chmodSync(join(dir, 'volume'), 0o777);
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const payload = (text: string) => ({ key: { data: Buffer.from(text), mode: 0o644 } });
const now = Date.UTC(2026, 0, 2);

test.for([
  '../host',
  '..',
  '.',
  '/',
  '../../../../../../../..',
  'x/../../host',
  '..2026_01_02_00_00_00.abc/../../host',
])('a container that leads ..data to %s has nothing removed there', (target) => {
  const host = join(dir, 'host');
  mkdirSync(host);
  writeFileSync(join(host, 'precious'), 'x');
  const volume = join(dir, 'volume');
  const writer = new AtomicWriter(volume);
  writer.write(payload('one'), now);
  rmSync(join(volume, '..data'));
  symlinkSync(target, join(volume, '..data'));
  writer.write(payload('two'), now + 1000);
  expect(existsSync(join(host, 'precious'))).toBe(true);
  expect(readFileSync(join(volume, 'key'), 'utf8')).toBe('two');
});

test('a folder that others may write to keeps them from what is not theirs', () => {
  const volume = join(dir, 'volume');
  new AtomicWriter(volume).write(payload('one'), now);
  expect(statSync(volume).mode & 0o1000).toBe(0o1000);
});
