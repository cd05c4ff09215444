import { readFileSync } from 'node:fs';

/** The text of a file; nothing when there is no such file. @throws what else keeps it from being read */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}
