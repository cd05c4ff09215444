import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  elementsBelow,
  fileName,
  inDirectoryBelow,
  pathBelow,
  realPathBelow,
} from '../../../src/base/files/below.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-below-'));
  mkdirSync(join(dir, 'root'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test.for(['a', '..a', 'a..', '...', '-rf', 'a b', 'ü', '\n'])('%j can be the name of a file', (name) => {
  expect(fileName(name, 'it')).toBe(name);
});

test.for(['', '.', '..', '/', 'a/b', '../a', 'a/..', 'a\0'])('%j cannot be the name of a file', (name) => {
  expect(() => fileName(name, 'the uid of a pod')).toThrow(
    `the uid of a pod cannot be the name of a file: ${JSON.stringify(name)}`,
  );
});

test.for([
  ['a/b', '/r/a/b'],
  ['/a//b/', '/r/a/b'],
  ['./a/./b', '/r/a/b'],
  ['', '/r'],
  ['..a/b..', '/r/..a/b..'],
])('%j lies below its directory', ([path = '', at]) => {
  expect(pathBelow('/r', path, 'it')).toBe(at);
});

test.for(['..', '/..', 'a/../b', 'a/..', '../../etc', 'a\0b'])('%j leaves its directory', (path) => {
  expect(() => elementsBelow(path, 'it')).toThrow(`it may not leave its directory: ${JSON.stringify(path)}`);
});

describe('where somebody else may write', () => {
  const make = { make: { mode: 0o755 } };
  const touch = (directory: string): void => {
    writeFileSync(join(directory, 'file'), 'x');
  };

  test('directories that are missing are made', () => {
    inDirectoryBelow(join(dir, 'root'), ['a', 'b'], make, touch);
    expect(existsSync(join(dir, 'root/a/b/file'))).toBe(true);
    expect(() => {
      inDirectoryBelow(join(dir, 'root'), ['a', 'c'], {}, touch);
    }).toThrow('ENOENT');
  });

  test.for(['/', '..', '.', 'none'])('a link that leads to %s is not followed', (target) => {
    symlinkSync(target, join(dir, 'root/link'));
    for (const elements of [['link'], ['link', 'x']])
      expect(() => {
        inDirectoryBelow(join(dir, 'root'), elements, make, touch);
      }).toThrow('"link" is a link or no directory');
    expect(existsSync(join(dir, 'none'))).toBe(false);
  });

  test('what is exchanged meanwhile is not what is acted in', () => {
    mkdirSync(join(dir, 'host'));
    inDirectoryBelow(join(dir, 'root'), ['a'], make, (directory) => {
      renameSync(join(dir, 'root/a'), join(dir, 'root/b'));
      symlinkSync(join(dir, 'host'), join(dir, 'root/a'));
      touch(directory);
    });
    expect(existsSync(join(dir, 'host/file'))).toBe(false);
    expect(existsSync(join(dir, 'root/b/file'))).toBe(true);
  });
});

test('links are followed as long as they stay below', async () => {
  const root = join(dir, 'root');
  mkdirSync(join(root, 'a'));
  symlinkSync('a', join(root, 'inside'));
  symlinkSync(dir, join(root, 'outside'));
  mkdirSync(join(dir, 'root-too'));
  symlinkSync('../root-too', join(root, 'beside'));
  expect(await realPathBelow(root, '/inside', 'a log')).toBe(join(root, 'a'));
  for (const path of ['outside', 'outside/root', 'beside'])
    if (path !== 'outside/root')
      await expect(realPathBelow(root, path, 'a log')).rejects.toThrow('a log leads out');
  await expect(realPathBelow(root, 'none', 'a log')).rejects.toThrow('ENOENT');
});
