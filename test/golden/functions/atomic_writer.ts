import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { messageOf } from '../../../src/base/errors.ts';
import { AtomicWriter } from '../../../src/containers/volumes/atomic-writer.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly writes: readonly Readonly<Record<string, { readonly data: string; readonly mode: number }>>[];
}

type Entry = { readonly path: string; readonly type: string; readonly [member: string]: string };

function walk(dir: string, prefix = ''): Entry[] {
  return readdirSync(join(dir, prefix), { withFileTypes: true }).flatMap((entry): Entry[] => {
    const path = join(prefix, entry.name);
    const full = join(dir, path);
    if (entry.isSymbolicLink()) return [{ path, type: 'symlink', link: readlinkSync(full) }];
    const mode = (lstatSync(full).mode & 0o7777).toString(8);
    if (entry.isDirectory()) return [{ path, type: 'dir', mode }, ...walk(dir, path)];
    return [{ path, type: 'file', mode, data: readFileSync(full, 'utf8') }];
  });
}

/** The tree with the timestamped directory under its placeholder, sorted by path. */
function tree(dir: string, target: string | undefined): readonly Entry[] {
  const show = (text: string): string => (target === undefined ? text : text.replace(target, 'TSDIR'));
  const entries = walk(dir).map((entry) => ({
    ...entry,
    path: show(entry.path),
    ...('link' in entry && { link: show(entry['link'] ?? '') }),
  }));
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export const replay: Replay = ({ in: input, out }) => {
  const dir = mkdtempSync(join(tmpdir(), 'atomic-writer-'));
  if (isMainThread) process.umask(0o022); // threads share their process's
  try {
    const writer = new AtomicWriter(dir);
    const steps = (input as Input).writes.map((write, index) => {
      const payload = Object.fromEntries(
        Object.entries(write).map(([path, { data, mode }]) => [path, { data: Buffer.from(data), mode }]),
      );
      let error: string | null = null;
      let newTimestampDir = false;
      try {
        newTimestampDir = writer.write(payload, 1000 * index);
      } catch (reason) {
        error = messageOf(reason);
      }
      const target = readdirSync(dir).find((name) => name.startsWith('..1970'));
      return { error, newTimestampDir, tree: tree(dir, target) };
    });
    return check((out as { steps: unknown }).steps, steps, { operation: input });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};
