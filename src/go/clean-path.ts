import { posix } from 'node:path';

/** Returns the shortest equivalent path, without a trailing slash. Follows Go `filepath.Clean`. */
export function cleanPath(path: string): string {
  const clean = posix.normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}
