import { execFile } from 'node:child_process';
import { type Dir, opendirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { byteNames, bytePath, onDisk } from './byte-path.ts';

/** So many are gone within some 20 ms. */
const few = 1000;

/**
 * Removes a directory with all that is in it, however deep that lies and however it is called; one that is not there is gone already. No link is followed. What holds many
 * files is left to `rm`: here a million take fifteen seconds, in which nothing else would be done.
 *
 * @throws what stands in the way, in Node's words
 */
export async function removeTree(dir: string): Promise<void> {
  // whether it is there, and whether it did all, shows below
  if (holdsMany(bytePath(dir))) await run('rm', ['-rf', '--', dir]).catch(() => undefined);
  rmSync(dir, { recursive: true, force: true });
}

const run = promisify(execFile);

/** What cannot be looked at is left to who removes it. */
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
