import { mkdirSync, rmdirSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { Volume } from '../../kube/types.ts';
import type { ClaimedVolume } from './claimed.ts';
import type { Mounter } from './mounter.ts';

/** An NFS export used by a pod. */
export interface NfsVolume {
  /** Name of the pod's volume, or of the persistent volume behind its claim; names the directory. */
  readonly name: string;
  /** `server:/path` */
  readonly source: string;
  readonly options: readonly string[];
}

/** Returns the NFS export behind a volume; `undefined` when there is none. */
export function nfsVolumeOf(volume: Volume, claimed: ClaimedVolume | undefined): NfsVolume | undefined {
  const { name, nfs, persistentVolumeClaim } = volume;
  if (nfs) return { name, source: sourceOf(nfs), options: optionsOf(nfs.readOnly) };
  if (!claimed?.nfs) return undefined;
  const options = optionsOf(persistentVolumeClaim?.readOnly, claimed.mountOptions);
  return { name: claimed.name ?? '', source: sourceOf(claimed.nfs), options };
}

const sourceOf = ({ server = '', path = '' }: NonNullable<ClaimedVolume['nfs']>): string =>
  `${isIPv6(server) ? `[${server}]` : server}:${path}`;

/** Removes duplicates and sorts. Follows kubelet `JoinMountOptions`. */
const optionsOf = (readOnly = false, more: readonly string[] = []): readonly string[] =>
  [...new Set([...more, ...(readOnly ? ['ro'] : [])])].sort();

/**
 * Mounts an export on a directory of the pod; does nothing when it is mounted.
 *
 * Follows kubelet `nfsMounter.SetUpAt`.
 */
export async function mountNfs(
  mounter: Pick<Mounter, 'isMountPoint' | 'mountNfs'>,
  dir: string,
  { source, options }: NfsVolume,
): Promise<void> {
  if (mounter.isMountPoint(dir)) return;
  mkdirSync(dir, { recursive: true, mode: 0o750 });
  try {
    await mounter.mountNfs(source, dir, options);
  } catch (reason) {
    removeEmpty(dir);
    throw reason;
  }
}

/** Removes an empty directory; when a late mount is on it, it stays and the next attempt finds it. */
function removeEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch {
    // a mount is on it
  }
}
