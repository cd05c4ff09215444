import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeFiles } from '../../../src/containers/container/files.ts';

test('the end of a file is read; a FIFO that a container put in its place reads as empty without blocking', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-files-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  const path = join(dir, 'termination-log');
  writeFileSync(path, 'all is over');
  expect((await nodeFiles.readEnd(path, 4)).toString()).toBe('over');
  rmSync(path);
  execFileSync('mkfifo', [path]);
  expect((await nodeFiles.readEnd(path, 4)).toString()).toBe('');
});
