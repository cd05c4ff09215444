import { execFile } from 'node:child_process';
import { type Dir, opendirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { byteNames, bytePath, onDisk } from './byte-path.ts';

/** The number of files that can be removed in-process, within about 20 ms. */
const few = 1000;

/**
 * Removes a directory with its content, of any depth and with any names. Resolves when the directory does not exist. Follows no link. A
 * tree with many files is removed with `rm`: a million files removed in-process would block for fifteen seconds.
 *
 * @throws Node's error when something cannot be removed
 */
export async function removeTree(dir: string): Promise<void> {
  // the call below reports a tree that is still there
  if (holdsMany(bytePath(dir))) await run('rm', ['-rf', '--', dir]).catch(() => undefined);
  try {
    rmSync(dir, { recursive: true, force: true });
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== 'EACCES') throw reason;
    // an owner who is not root opens his directories first
    await run('chmod', ['-R', 'u+rwX', '--', dir]).catch(() => undefined);
    rmSync(dir, { recursive: true, force: true });
  }
}

const run = promisify(execFile);

/** True when the tree holds many files. False when it cannot be read: the removal then reports the error. */
function holdsMany(top: string): boolean {
  let left = few;
  const look = (path: string): void => {
    let dir: Dir;
    try {
      dir = opendirSync(onDisk(path), { encoding: byteNames });
    } catch {
      return;
    }
    try {
      for (let entry = dir.readSync(); entry && --left >= 0; entry = dir.readSync())
        if (entry.isDirectory()) look(join(path, entry.name));
    } finally {
      dir.closeSync();
    }
  };
  look(top);
  return left < 0;
}
