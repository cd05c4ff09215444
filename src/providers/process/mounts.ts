import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mount } from '../../provider/cri-messages.ts';

/**
 * Lays out the directory that stands for a container's file system: every mount whose path is not the host's own becomes a link
 * at that path below `root`. Outer mounts come first, so that a mount inside another lands in it.
 *
 * @throws {Error} of the file system, naming the path
 */
export function layOutMounts(root: string, mounts: readonly Mount[]): void {
  const byDepth = [...mounts].sort((a, b) => (a.containerPath ?? '').length - (b.containerPath ?? '').length);
  for (const { containerPath = '', hostPath = '' } of byDepth) {
    if (containerPath === '' || hostPath === '' || isSame(containerPath, hostPath)) continue;
    const link = join(root, containerPath);
    mkdirSync(dirname(link), { recursive: true });
    if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(link);
    if (!existsSync(link)) symlinkSync(hostPath, link);
  }
}

/** Do both paths already name the same thing on the host? Then the mount holds without doing anything. */
function isSame(containerPath: string, hostPath: string): boolean {
  if (containerPath === hostPath) return true;
  try {
    return realpathSync(containerPath) === realpathSync(hostPath);
  } catch {
    return false;
  }
}
