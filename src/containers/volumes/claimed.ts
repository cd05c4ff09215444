import { stat } from 'node:fs/promises';
import { AgentError, messageOf } from '../../base/errors.ts';
import { nameOf, uidOf } from '../../kube/names.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import { checkHostPath } from './host-path.ts';

/** A persistent volume as far as this node can use it: a path of the host, or of a file server. */
export interface ClaimedVolume {
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly local?: { readonly path: string };
  readonly csi?: { readonly driver?: string };
  /** What a file server exports; it is mounted for each pod. */
  readonly nfs?: { readonly server?: string; readonly path?: string };
  readonly mountOptions?: readonly string[];
  /** `Block`: a device that containers get as it is; absent: a directory. */
  readonly volumeMode?: string;
  /** The name of the persistent volume. */
  readonly name?: string;
  /** A group that pods with the volume must be in, as annotated. */
  readonly gid?: string;
}

/**
 * @param own whether the claim must be one that was made for this pod alone
 * @throws {AgentError} why the claim's volume cannot be used yet
 */
export type FindClaimed = (pod: Pod, claimName: string, own: boolean) => Promise<ClaimedVolume>;

/** What the claims of pods on this node stand for. */
export class ClaimedVolumes {
  readonly #find: FindClaimed;
  readonly #byVolume = new Map<string, ClaimedVolume>();

  constructor(find: FindClaimed) {
    this.#find = find;
  }

  /** Looks up the claims of these volumes of the pod. @returns the volumes that have none that can be used, and why */
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

  /** Makes sure that what the claim stands for is there. @throws {AgentError} when it is not, or is of a kind that this node cannot use */
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

  /** Where it is on the host; absent: not known, or on a file server. */
  pathOf(pod: Pod, volume: Volume): string | undefined {
    const { hostPath, local } = this.#byVolume.get(keyOf(pod, volume)) ?? {};
    return hostPath?.path ?? local?.path;
  }

  /** What the claim stands for; absent: not known. */
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

/** A device is no directory. Follows kubelet `createVolumeSpec`. */
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
