import { chmodSync, lchownSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { chmod, lchown, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { byteNames, bytePath, onDisk } from '../../base/files/byte-path.ts';
import type { Clock } from '../../base/clock.ts';
import type { Pod } from '../../kube/types.ts';

/** Access of a pod's group to its volume. */
type GroupAccess = 'read' | 'write';

/**
 * Gives a volume to the pod's group: readable by the group, and writable where the owner may write; directories
 * get the setgid bit. Symbolic links are changed but not followed. Follows kubelet `volume.SetVolumeOwnership`.
 */
export function setGroupOwnership(path: string, group: number, access: GroupAccess = 'write'): void {
  const give = (bytes: string): void => {
    const at = onDisk(bytes);
    const stats = lstatSync(at);
    // Children first, so that an interrupted walk is visible at the root.
    if (stats.isDirectory()) for (const name of readdirSync(at, byteNames)) give(join(bytes, name));
    lchownSync(at, stats.uid, group);
    if (!stats.isSymbolicLink()) chmodSync(at, groupMode(stats, access));
  };
  give(bytePath(path));
}

const groupMode = (stats: Stats, access: GroupAccess = 'write'): number =>
  (stats.mode & 0o7777) | (access === 'read' ? 0o440 : 0o660) | (stats.isDirectory() ? 0o2110 : 0);

/** Options of {@link giveToGroup}. */
export interface GiveOptions {
  /** Skip when the root already has the group (`fsGroupChangePolicy: OnRootMismatch`). */
  readonly whenRootDiffers?: boolean;
  /** Called for each file and directory. */
  readonly onEach?: () => void;
}

/** Like {@link setGroupOwnership} for large trees: asynchronous. */
export async function giveToGroup(
  path: string,
  group: number,
  { whenRootDiffers = false, onEach }: GiveOptions = {},
): Promise<void> {
  const top = await lstat(path);
  if (whenRootDiffers && top.gid === group && (top.mode & 0o2770) === 0o2770) return;
  const give = async (bytes: string): Promise<void> => {
    const at = onDisk(bytes);
    const stats = await lstat(at);
    onEach?.();
    // Children first, so that an interrupted walk is visible at the root.
    if (stats.isDirectory())
      for await (const { name } of await opendir(at, { encoding: byteNames })) await give(join(bytes, name));
    await lchown(at, stats.uid, group);
    if (!stats.isSymbolicLink()) await chmod(at, groupMode(stats));
  };
  await give(bytePath(path));
}

/** Times of progress events of an ownership change, ms: the first, and the interval of the others. */
const progress = { firstMs: 30_000, everyMs: 60_000 };

/**
 * OwnershipProgress reports the progress of a long ownership change. Follows kubelet `VolumeOwnership.monitorProgress`.
 *
 * @param name the volume's name in messages
 */
export class OwnershipProgress {
  #files = 0;
  #stop: () => void;

  constructor(clock: Clock, name: string, tell: (message: string) => void) {
    const next = (ms: number, message: () => string): (() => void) =>
      clock.timer(ms, () => {
        tell(message());
        this.#stop = next(
          progress.everyMs,
          () => `Setting volume ownership for ${name}, processed ${this.#files} files.`,
        );
      });
    this.#stop = next(
      progress.firstMs,
      () =>
        `Setting volume ownership for ${name} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`,
    );
  }

  /** Counts one more file or directory. */
  readonly count = (): void => {
    this.#files++;
  };

  end(): void {
    this.#stop();
  }
}

/** Returns the group of a path. */
export const groupOf = (path: string): number => lstatSync(path).gid;

/** Returns the group for the pod's volumes. */
export const fsGroupOf = (pod: Pod): number | undefined => pod.spec?.securityContext?.fsGroup;

/**
 * Returns the user that all containers of the pod run as, the owner of its tokens; `undefined` when a container sets none, or they differ.
 * Follows kubelet `FsUserFrom`.
 */
export function fsUserOf({ spec }: Pod): number | undefined {
  const { initContainers = [], containers = [], securityContext } = spec ?? {};
  const users = [...initContainers, ...containers].map(
    (one) => one.securityContext?.runAsUser ?? securityContext?.runAsUser,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}
