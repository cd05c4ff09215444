import { mkdirSync, rmdirSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { Volume } from '../../kube/types.ts';
import type { ClaimedVolume } from './claimed.ts';
import type { Mounter } from './mounter.ts';

/** What a file server exports, as a pod has it. */
export interface NfsVolume {
  /** Of the pod's volume, or of the persistent volume behind its claim: so its directory is called. */
  readonly name: string;
  /** `server:/path` */
  readonly source: string;
  readonly options: readonly string[];
}

/** @returns what of a file server is behind a volume; absent: nothing */
export function nfsVolumeOf(volume: Volume, claimed: ClaimedVolume | undefined): NfsVolume | undefined {
  const { name, nfs, persistentVolumeClaim } = volume;
  if (nfs) return { name, source: sourceOf(nfs), options: optionsOf(nfs.readOnly) };
  if (!claimed?.nfs) return undefined;
  const options = optionsOf(persistentVolumeClaim?.readOnly, claimed.mountOptions);
  return { name: claimed.name ?? '', source: sourceOf(claimed.nfs), options };
}

const sourceOf = ({ server = '', path = '' }: NonNullable<ClaimedVolume['nfs']>): string =>
  `${isIPv6(server) ? `[${server}]` : server}:${path}`;

/** Each once and in order. Follows kubelet `JoinMountOptions`. */
const optionsOf = (readOnly = false, more: readonly string[] = []): readonly string[] =>
  [...new Set([...more, ...(readOnly ? ['ro'] : [])])].sort();

/**
 * Mounts it at a directory of the pod; what is mounted there already stays.
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

/** A mount that came after all stays: the next attempt finds it. */
function removeEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch {
    // it is in use
  }
}
