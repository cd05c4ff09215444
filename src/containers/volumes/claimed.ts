import { stat } from 'node:fs/promises';
import { AgentError, messageOf } from '../../base/errors.ts';
import { nameOf, uidOf } from '../../kube/names.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import { checkHostPath } from './host-path.ts';

/** A persistent volume of a kind that the node supports: a path on the host, or NFS. */
export interface ClaimedVolume {
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly local?: { readonly path: string };
  readonly csi?: { readonly driver?: string };
  /** NFS export; it is mounted for each pod. */
  readonly nfs?: { readonly server?: string; readonly path?: string };
  readonly mountOptions?: readonly string[];
  /** `Block`: a device passed to containers; absent: a directory. */
  readonly volumeMode?: string;
  /** The name of the persistent volume. */
  readonly name?: string;
  /** Group that pods using the volume must be in, from its annotation. */
  readonly gid?: string;
}

/**
 * Returns the volume of a claim. @param own true when the claim must have been created for this pod
 * @throws {AgentError} when the claim's volume cannot be used yet
 */
export type FindClaimed = (pod: Pod, claimName: string, own: boolean) => Promise<ClaimedVolume>;

/** ClaimedVolumes resolves and caches the persistent volumes behind pods' claims. */
export class ClaimedVolumes {
  readonly #find: FindClaimed;
  readonly #byVolume = new Map<string, ClaimedVolume>();

  constructor(find: FindClaimed) {
    this.#find = find;
  }

  /** Looks up the claims of these volumes. @returns the volumes whose claim cannot be used, and why */
  async resolve(pod: Pod, volumes: readonly Volume[]): Promise<ReadonlyMap<Volume, string>> {
    const faults = new Map<Volume, string>();
    for (const volume of volumes) {
      const claimName = claimNameOf(nameOf(pod), volume);
      if (claimName === undefined) continue;
      try {
        const found = await this.#find(pod, claimName, volume.ephemeral !== undefined);
        const misuse = misused(pod, volume, found);
        if (misuse === undefined) this.#byVolume.set(keyOf(pod, volume), found);
        else faults.set(volume, misuse);
      } catch (reason) {
        faults.set(volume, messageOf(reason));
      }
    }
    return faults;
  }

  /** Checks that the volume behind a claim exists. @throws {AgentError} when it does not, or its kind is not supported */
  async check(pod: Pod, volume: Volume): Promise<void> {
    const { hostPath, local, csi, nfs, volumeMode } = this.#byVolume.get(keyOf(pod, volume)) ?? {};
    if (csi)
      throw new AgentError(
        'unimplemented',
        `the persistent volume needs the CSI driver "${csi.driver ?? ''}"; CSI volumes are not supported on this node`,
      );
    if (local) await demandPath(local.path, volumeMode === 'Block');
    else if (hostPath && volumeMode !== 'Block') await checkHostPath(hostPath.path, hostPath.type);
    else if (!nfs || volumeMode === 'Block')
      throw new AgentError('unimplemented', 'persistent volumes of this kind are not supported on this node');
  }

  /** Returns the host path; `undefined` when it is unknown or on a file server. */
  pathOf(pod: Pod, volume: Volume): string | undefined {
    const { hostPath, local } = this.#byVolume.get(keyOf(pod, volume)) ?? {};
    return hostPath?.path ?? local?.path;
  }

  /** Returns the resolved volume; `undefined` when it is not resolved. */
  of(pod: Pod, volume: Volume): ClaimedVolume | undefined {
    return this.#byVolume.get(keyOf(pod, volume));
  }

  forget(pod: Pod): void {
    for (const volume of pod.spec?.volumes ?? []) this.#byVolume.delete(keyOf(pod, volume));
  }
}

async function demandPath(path: string, asDevice: boolean): Promise<void> {
  const stats = await stat(path).catch((cause: unknown) => {
    throw new AgentError('failed_precondition', `path "${path}" does not exist`, { cause });
  });
  if (stats.isBlockDevice() === asDevice) return;
  throw asDevice
    ? new AgentError('failed_precondition', `path "${path}" is not a block device`)
    : new AgentError(
        'unimplemented',
        `file systems on block devices ("${path}") are not supported on this node`,
      );
}

/**
 * Returns why a volume's mode does not match its use: a block device cannot be mounted as a directory, nor the reverse. Follows kubelet
 * `createVolumeSpec`.
 */
function misused(
  { spec }: Pod,
  { name }: Volume,
  { volumeMode = 'Filesystem' }: ClaimedVolume,
): string | undefined {
  const used = volumeMode === 'Block' ? 'volumeMounts' : 'volumeDevices';
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return containers.some((container) => container[used]?.some((one) => one.name === name))
    ? `volume ${name} has volumeMode ${volumeMode}, but is specified in ${used}`
    : undefined;
}

const keyOf = (pod: Pod, { name }: Volume): string => `${uidOf(pod)}/${name}`;
