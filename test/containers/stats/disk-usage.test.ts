import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { diskUsage } from '../../../src/containers/stats/disk-usage.ts';
import { mountPointsSoon } from '../../../src/containers/volumes/mounter.ts';

const root = mkdtempSync(join(tmpdir(), 'disk-usage-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});

const folder = (name: string): string => {
  const path = join(root, name);
  mkdirSync(path);
  return path;
};
const blocks = (...paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + statSync(path).blocks * 512, 0);

test('a folder takes what it and all below it take', async () => {
  const dir = folder('tree');
  mkdirSync(join(dir, 'a/b'), { recursive: true });
  writeFileSync(join(dir, 'a/b/file'), 'x'.repeat(100_000));
  const bytes = blocks(dir, join(dir, 'a'), join(dir, 'a/b'), join(dir, 'a/b/file'));
  expect(bytes).toBeGreaterThanOrEqual(100_000);
  expect(await diskUsage(dir)).toEqual({ bytes, inodes: 4 });
});

test('a file with two names counts once', async () => {
  const dir = folder('links');
  const file = join(dir, 'file');
  writeFileSync(file, 'x'.repeat(10_000));
  linkSync(file, join(dir, 'again'));
  expect(await diskUsage(dir)).toEqual({ bytes: blocks(dir, file), inodes: 2 });
});

test('a hole takes no room', async () => {
  const file = join(folder('holes'), 'sparse');
  writeFileSync(file, '');
  truncateSync(file, 1e9);
  expect((await diskUsage(file))?.bytes).toBeLessThan(1e6);
});

test('names that are no UTF-8 count like others', async () => {
  const dir = folder('bytes-ä');
  const odd = Buffer.concat([Buffer.from(join(dir, 'd')), Buffer.from([0xe4, 0xff])]);
  mkdirSync(odd);
  const file = Buffer.concat([odd, Buffer.from([0x2f, 0xfc])]);
  writeFileSync(file, 'x'.repeat(100_000));
  const bytes = blocks(dir) + statSync(odd).blocks * 512 + statSync(file).blocks * 512;
  expect(bytes).toBeGreaterThanOrEqual(100_000);
  expect(await diskUsage(dir)).toEqual({ bytes, inodes: 3 });
});

test('what a link leads to is not counted', async () => {
  const dir = folder('symlink');
  symlinkSync('/', join(dir, 'elsewhere'));
  expect((await diskUsage(dir))?.inodes).toBe(2);
});

test('of nothing there is no usage', async () => {
  expect(await diskUsage(join(root, 'missing'))).toBeUndefined();
});

test('a walk ends with its signal', async () => {
  const dir = folder('long');
  writeFileSync(join(dir, 'file'), '');
  await expect(diskUsage(dir, AbortSignal.abort())).rejects.toThrow('aborted');
});

test('those who ask for the mounts at one time share a look, who comes later gets a new one', async () => {
  const looks = [mountPointsSoon(), mountPointsSoon()];
  expect(looks[0]).toBe(looks[1]);
  expect(await looks[0]).toContain('/proc');
  expect(mountPointsSoon()).not.toBe(looks[0]);
});
