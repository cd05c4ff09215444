import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkHostPath } from '../../../src/containers/volumes/host-path.ts';

let dir = '';

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-host-path-'));
  mkdirSync(join(dir, 'folder'));
  writeFileSync(join(dir, 'file'), '');
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const outcome = async (path: string, type: string): Promise<string> => {
  try {
    await checkHostPath(join(dir, path), type);
    return 'good';
  } catch (reason) {
    return (reason as Error).message.replaceAll(dir, '');
  }
};

test.for([
  ['folder', 'Directory', 'good'],
  ['folder', 'DirectoryOrCreate', 'good'],
  ['new/below', 'DirectoryOrCreate', 'good'],
  ['file', 'File', 'good'],
  ['file', 'FileOrCreate', 'good'],
  ['folder/new', 'FileOrCreate', 'good'],
  ['anything', '', 'good'],
  ['folder', 'File', 'hostPath type check failed: /folder is not a file'],
  ['folder', 'FileOrCreate', 'hostPath type check failed: /folder is not a file'],
  ['file', 'DirectoryOrCreate', 'hostPath type check failed: /file is not a directory'],
  ['new', 'Directory', 'hostPath type check failed: /new is not a directory'],
  ['file/below', 'File', 'hostPath type check failed: /file/below is not a file'],
  ['file', 'Socket', 'hostPath type check failed: /file is not a socket file'],
  ['file', 'CharDevice', 'hostPath type check failed: /file is not a character device'],
  ['file', 'BlockDevice', 'hostPath type check failed: /file is not a block device'],
  ['new/below', 'FileOrCreate', 'open /new/below: no such file or directory'],
  ['file', 'Link', 'Link is an invalid volume type'],
] as const)('%s as %s', async ([path, type, wanted]) => {
  expect(await outcome(path, type)).toBe(wanted);
});

test('what is made is for all to read and the owner to write', async () => {
  await outcome('made/here', 'DirectoryOrCreate');
  await outcome('made/file', 'FileOrCreate');
  const modeOf = (path: string): number => statSync(join(dir, path)).mode & 0o777;
  expect([modeOf('made'), modeOf('made/here'), modeOf('made/file')]).toEqual([0o755, 0o755, 0o644]);
});
