import { chmodSync, lchownSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { chmod, lchown, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Gives a volume to the pod's group: all of it readable and writable by the group, directories passing the group on.
 * Symbolic links are given away but never followed. Follows kubelet `volume.SetVolumeOwnership`.
 */
export function setGroupOwnership(dir: string, fsGroup: number): void {
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
  chmodSync(path, groupMode(stats));
}

const groupMode = (stats: Stats): number =>
  (stats.mode & 0o7777) | 0o660 | (stats.isDirectory() ? 0o2110 : 0);

/**
 * As {@link setGroupOwnership}, for what may hold many files: others are served meanwhile.
 *
 * @param whenRootDiffers leave it all alone when the top has the group already (`fsGroupChangePolicy: OnRootMismatch`)
 */
export async function giveToGroup(path: string, group: number, whenRootDiffers = false): Promise<void> {
  const stats = await lstat(path);
  if (whenRootDiffers && stats.gid === group && (stats.mode & 0o2770) === 0o2770) return;
  // children first, so that a torn walk shows at the root
  if (stats.isDirectory())
    for await (const { name } of await opendir(path)) await giveToGroup(join(path, name), group);
  await lchown(path, stats.uid, group);
  if (!stats.isSymbolicLink()) await chmod(path, groupMode(stats));
}

/** The group that a path belongs to. */
export const groupOf = (path: string): number => lstatSync(path).gid;
