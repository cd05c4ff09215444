import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { hostMounter } from '../../src/containers/volumes/mounter.ts';

const dir = mkdtempSync(join(tmpdir(), 'podtender-mount-words-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

test.for(['--help', '--version', '-V'])('a file server called %s is no option of mount', async (server) => {
  // as an option it would print something and succeed
  await expect(hostMounter.mountNfs(server, dir, [])).rejects.toThrow(
    `Mounting arguments: -t nfs ${server} ${dir}\n`,
  );
});

test.for(['--help', '--version'])('a path called %s is no option of mount', async (path) => {
  await expect(hostMounter.bindMount(path, dir)).rejects.toThrow('mount failed');
});
