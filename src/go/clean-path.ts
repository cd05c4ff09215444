import { posix } from 'node:path';

/** The shortest path of the same meaning, without a slash at the end. Follows Go `filepath.Clean`. */
export function cleanPath(path: string): string {
  const clean = posix.normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}
