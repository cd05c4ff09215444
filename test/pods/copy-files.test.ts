import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Pod } from '../../src/kube/types.ts';
import { CopyFiles } from '../../src/pods/copy-files.ts';

let dir: string;
let files: CopyFiles;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-copies-'));
  files = new CopyFiles(({ metadata }) => join(dir, metadata?.uid ?? '', 'middleware/copy.json'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const pod = (uid: string, image = 'app:1'): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid },
  spec: { containers: [{ name: 'c', image }] },
  status: { phase: 'Running' },
});
const path = (): string => join(dir, 'u1/middleware/copy.json');

test('a copy is kept without its status, for the agent alone, and read by the next one', async () => {
  expect(files.read(pod('u1'))).toBeUndefined();
  await files.save(pod('u1'));
  await files.save(pod('u2', 'other:1'));
  const { status: _, ...kept } = pod('u1');
  expect(files.read(pod('u1', 'changed:1'))).toEqual(kept);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(dir, 'u1/middleware'))).toEqual(['copy.json']);
});

test('a copy is written again only when it differs', async () => {
  await files.save(pod('u1'));
  const { ino } = statSync(path());
  await files.save({ ...pod('u1'), status: { phase: 'Failed' } });
  expect(statSync(path()).ino).toBe(ino);
  await files.save(pod('u1', 'app:2'));
  expect(files.read(pod('u1'))?.spec?.containers[0]?.image).toBe('app:2');
});

test('a file that is no copy of the pod is refused by its path', async () => {
  await files.save(pod('u1'));
  for (const text of ['', '{"metadata":', '{}', JSON.stringify(pod('u2')), '{"metadata":{"uid":"u1"}}']) {
    writeFileSync(path(), text);
    expect(() => files.read(pod('u1')), text).toThrow(
      `the copy that middleware made of the pod cannot be read: ${path()}: `,
    );
  }
});
