import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Gives a volume to the pod's group: all of it readable and writable by the group, directories passing the group on.
 * Symbolic links are given away but never followed. Follows kubelet `volume.SetVolumeOwnership`.
 *
 * @param whenRootDiffers leave it all alone when the top has the group already (`fsGroupChangePolicy: OnRootMismatch`)
 */
export function setGroupOwnership(dir: string, fsGroup: number, whenRootDiffers = false): void {
  if (whenRootDiffers && rootMatches(dir, fsGroup)) return;
  // children first, so that a torn walk shows at the root
  for (const entry of readdirSync(dir)) give(join(dir, entry), fsGroup);
  giveOne(dir, fsGroup);
}

function give(path: string, group: number): void {
  if (lstatSync(path).isDirectory()) for (const entry of readdirSync(path)) give(join(path, entry), group);
  giveOne(path, group);
}

function giveOne(path: string, group: number): void {
  const stats = lstatSync(path);
  lchownSync(path, stats.uid, group);
  if (stats.isSymbolicLink()) return;
  const mode = (stats.mode & 0o7777) | 0o660 | (stats.isDirectory() ? 0o2110 : 0);
  chmodSync(path, mode);
}

const rootMatches = (dir: string, group: number): boolean => {
  const { gid, mode } = lstatSync(dir);
  return gid === group && (mode & 0o2770) === 0o2770;
};
