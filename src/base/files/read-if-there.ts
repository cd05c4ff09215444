import { readFileSync } from 'node:fs';

/** Reads a text file; returns `undefined` when it does not exist. @throws any other error of the file system */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}
