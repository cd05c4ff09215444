import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SubPaths } from '../../src/volumes/sub-path.ts';

let dir = '';
let volume = '';
/** What is bound where, by target. */
const bound = new Map<string, string>();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-sub-path-'));
  volume = join(dir, 'volume');
  mkdirSync(join(volume, 'real/deep'), { recursive: true });
  writeFileSync(join(volume, 'real/file'), 'in');
  mkdirSync(join(dir, 'outside'));
  bound.clear();
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Binds by a link in the target's place, which shows the same content. */
const subPaths = (): SubPaths =>
  new SubPaths({
    rootDir: join(dir, 'root'),
    pid: process.pid,
    mounter: {
      isMountPoint: (target) => bound.has(target),
      bindMount: async (source, target) => {
        const real = readlinkSync(source);
        rmSync(target, { recursive: true });
        symlinkSync(real, target);
        bound.set(target, real);
      },
      unmount: async (target) => {
        bound.delete(target);
      },
    },
  });

const prepare = (subPath: string): Promise<string> =>
  subPaths().prepare({ podUid: 'u', container: 'c', volume: 'v', volumePath: volume, subPath, index: 2 });

test.for([
  ['real', 'real'],
  ['real/file', 'real/file'],
  ['./real//deep/', 'real/deep'],
] as const)('%s is bound from the volume', async ([subPath, found]) => {
  const target = await prepare(subPath);
  expect(target).toBe(join(dir, 'root/pods/u/volume-subpaths/v/c/2'));
  expect(bound.get(target)).toBe(join(volume, found));
});

test('what is missing is made, with the rights of what is above it', async () => {
  chmodSync(join(volume, 'real'), 0o750);
  const target = await prepare('real/new/newer');
  expect(bound.get(target)).toBe(join(volume, 'real/new/newer'));
  expect(statSync(join(volume, 'real/new')).mode & 0o777).toBe(0o750);
});

test('links are followed as long as they stay within', async () => {
  symlinkSync('real', join(volume, 'link'));
  symlinkSync(join(volume, 'real/deep'), join(volume, 'absolute'));
  expect(bound.get(await prepare('link/file'))).toBe(join(volume, 'real/file'));
  expect(bound.get(await prepare('absolute'))).toBe(join(volume, 'real/deep'));
});

test.for([
  ['../outside', 'made'],
  ['/', 'absolute'],
])('a link that leads out is refused (%s)', async ([to = '']) => {
  symlinkSync(to, join(volume, 'out'));
  symlinkSync(join(dir, 'outside'), join(volume, 'out-absolute'));
  for (const subPath of ['out', 'out/x', 'out-absolute', 'real/../out'])
    await expect(prepare(subPath), subPath).rejects.toThrow(/which is not within the volume/);
  expect(bound.size).toBe(0);
});

test('a link to nothing is not made a directory of', async () => {
  symlinkSync(join(dir, 'outside/later'), join(volume, 'dangling'));
  await expect(prepare('dangling')).rejects.toThrow('leads over the symbolic link "dangling"');
  await expect(prepare('dangling/x')).rejects.toThrow('leads over the symbolic link "dangling"');
});

test('one that was prepared serves again, until its content was exchanged', async () => {
  const first = await prepare('real/file');
  const before = statSync(first).ino;
  expect(statSync(await prepare('real/file')).ino).toBe(before);
  writeFileSync(join(volume, 'fresh'), 'new');
  renameSync(join(volume, 'fresh'), join(volume, 'real/file'));
  expect(readFileSync(await prepare('real/file'), 'utf8')).toBe('new');
});
