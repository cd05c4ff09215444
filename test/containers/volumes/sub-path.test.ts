import {
  chmodSync,
  existsSync,
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
import { silentLogger } from '../../../src/base/logger.ts';
import { readWithin, SubPaths, type SubPathsDeps } from '../../../src/containers/volumes/sub-path.ts';

let dir = '';
let volume = '';
/** What is bound where, by target. */
const bound = new Map<string, string>();
let logged: string[] = [];
let asked: string[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-sub-path-'));
  volume = join(dir, 'volume');
  mkdirSync(join(volume, 'real/deep'), { recursive: true });
  writeFileSync(join(volume, 'real/file'), 'in');
  mkdirSync(join(dir, 'outside'));
  bound.clear();
  [logged, asked] = [[], []];
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Binds by a link in the target's place, which shows the same content. */
const parts = (): SubPathsDeps => ({
  rootDir: join(dir, 'root'),
  pid: process.pid,
  logger: { ...silentLogger, error: (_, fields) => void logged.push(String(fields?.['err'])) },
  answers: async (path) => void asked.push(path),
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

const wish = {
  podUid: 'u',
  container: 'c',
  volume: 'v',
  get volumePath() {
    return volume;
  },
  index: 2,
};
const prepare = (subPath: string): Promise<string> => new SubPaths(parts()).prepare({ ...wish, subPath });
const [notMade, notPrepared] = ['create subPath directory', 'prepare subPath'].map(
  (what) => `failed to ${what} for volumeMount "v" of container "c"`,
);

test.for([
  ['real', 'real'],
  ['real/file', 'real/file'],
  ['./real//deep/', 'real/deep'],
] as const)('%s is bound from the volume', async ([subPath, found]) => {
  const target = await prepare(subPath);
  expect(target).toBe(join(dir, 'root/pods/u/volume-subpaths/v/c/2'));
  expect(bound.get(target)).toBe(join(volume, found));
});

test('what is missing is made, the last of it with the rights of the volume, whatever the umask', async () => {
  const mask = process.umask(0o027);
  try {
    chmodSync(volume, 0o3775);
    chmodSync(join(volume, 'real'), 0o750);
    const target = await prepare('real/new/newer');
    expect(bound.get(target)).toBe(join(volume, 'real/new/newer'));
  } finally {
    process.umask(mask);
  }
  const modeOf = (path: string): string => (statSync(join(volume, path)).mode & 0o7777).toString(8);
  expect([modeOf('real/new'), modeOf('real/new/newer')]).toEqual(['750', '3775']);
});

test('nothing is looked into before it has answered', async () => {
  const target = await prepare('real/file');
  expect(asked).toEqual([join(volume, 'real/file'), target]);
  const dead = new SubPaths({ ...parts(), answers: () => Promise.reject(new Error('does not answer')) });
  await expect(dead.prepare({ ...wish, subPath: 'new' })).rejects.toThrow('does not answer');
  expect(existsSync(join(volume, 'new'))).toBe(false);
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
  for (const subPath of ['out', 'out-absolute', 'real/../out'])
    await expect(prepare(subPath), subPath).rejects.toMatchObject({ message: notPrepared });
  await expect(prepare('out/x')).rejects.toMatchObject({ message: notMade });
  expect(bound.size).toBe(0);
  expect(logged[1]).toBe(
    `a symbolic link in "out-absolute" does not lead to within the volume: it leads to "${join(dir, 'outside')}"`,
  );
});

test('a link to nothing is not made a directory of', async () => {
  symlinkSync(join(dir, 'outside/later'), join(volume, 'dangling'));
  for (const subPath of ['dangling', 'dangling/x'])
    await expect(prepare(subPath)).rejects.toMatchObject({ message: notMade });
  expect(logged[0]).toMatch(/"dangling" leads to ".*outside\/later"$/);
});

test('no part is made of a volume that is not there', async () => {
  const missing = join(dir, 'no-volume');
  const preparing = new SubPaths(parts()).prepare({ ...wish, volumePath: missing, subPath: 'x' });
  await expect(preparing).rejects.toMatchObject({ message: `stat ${missing}: no such file or directory` });
  expect(existsSync(missing)).toBe(false);
});

test('a part below a file cannot be mounted', async () => {
  await expect(prepare('real/file/x')).rejects.toMatchObject({ message: notPrepared });
});

test('a file of a volume is read by itself, and by links that stay within', async () => {
  symlinkSync('real/file', join(volume, 'link'));
  expect(await readWithin(volume, 'real/file')).toBe('in');
  expect(await readWithin(volume, 'link')).toBe('in');
  expect(await readWithin(volume, 'none')).toBeUndefined();
  expect(await readWithin(join(dir, 'no-volume'), 'file')).toBeUndefined();
  await expect(readWithin(volume, 'real')).rejects.toThrow('"real" is not a file of at most 1048576 bytes');
});

test('the error does not reveal whether a link target exists', async () => {
  symlinkSync('../outside', join(volume, 'there'));
  symlinkSync('../nothing', join(volume, 'nowhere'));
  for (const path of ['there', 'nowhere'])
    await expect(readWithin(volume, path)).rejects.toMatchObject({
      message: `a symbolic link in "${path}" does not lead to within the volume`,
    });
});

test('one that was prepared serves again, until its content was exchanged', async () => {
  const first = await prepare('real/file');
  const before = statSync(first).ino;
  expect(statSync(await prepare('real/file')).ino).toBe(before);
  writeFileSync(join(volume, 'fresh'), 'new');
  renameSync(join(volume, 'fresh'), join(volume, 'real/file'));
  expect(readFileSync(await prepare('real/file'), 'utf8')).toBe('new');
});
