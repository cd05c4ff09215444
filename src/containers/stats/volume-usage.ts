import { messageOf } from '../../base/errors.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Pod, Volume } from '../../kube/types.ts';
import { layout, volumePlugins } from '../paths/layout.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { FsUsage } from './usage.ts';
import type { MeasureDisk } from './disk-usage.ts';
import { fsUsage } from './machine-usage.ts';

/** What one volume of a pod holds. */
export interface VolumeUse {
  readonly name: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** It goes with the pod and lies on the node's disk: it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  /** The file system that it lies on; absent: not known. */
  readonly fs?: Pick<FsUsage, 'capacityBytes' | 'availableBytes' | 'inodes' | 'inodesFree'>;
  /** The claim that it is of. */
  readonly claim?: { readonly name: string; readonly namespace: string };
}

/** Volumes that are file systems of their own; see {@link PodVolumes}. */
export type OwnFileSystems = Pick<PodVolumes, 'fileSystemOf' | 'answers'>;

export interface VolumeUsageDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly measure: MeasureDisk;
  /** How full the file system of a path is; default: what the kernel says. */
  readonly statFs?: typeof fsUsage;
  /** Absent: no volume is one. */
  readonly own?: OwnFileSystems;
}

interface Entry {
  readonly volumes: readonly VolumeUse[];
  /** ms since the epoch; absent: now. */
  readonly measuredAt?: number;
}

/**
 * What pods' volumes hold. Walking them may take long, so they are measured behind the caller's back, each pod's at most once in a
 * period, and the last known amounts are told.
 *
 * Follows kubelet `fsResourceAnalyzer` and `volumeStatCalculator`.
 */
export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  readonly #periodMs: number;
  readonly #known = new Map<string, Entry>();

  /** @param periodMs kubelet `volumeStatsAggPeriod`; 0 or less: nothing is measured */
  constructor(deps: VolumeUsageDeps, periodMs: number) {
    this.#deps = deps;
    this.#periodMs = periodMs;
  }

  /** What was last measured of the pods; those that are due are measured anew, for the next time. */
  of(pods: readonly Pod[], signal?: AbortSignal): ReadonlyMap<string, readonly VolumeUse[]> {
    const wanted = new Set(pods.map(uidOf));
    for (const uid of this.#known.keys()) if (!wanted.has(uid)) this.#known.delete(uid);
    if (this.#periodMs > 0)
      for (const pod of pods) if (this.#isDue(uidOf(pod))) void this.#measure(pod, signal);
    return new Map([...this.#known].map(([uid, { volumes }]) => [uid, volumes]));
  }

  /** What was last measured, of all pods. */
  get latest(): readonly VolumeUse[] {
    return [...this.#known.values()].flatMap(({ volumes }) => volumes);
  }

  #isDue(uid: string): boolean {
    const known = this.#known.get(uid);
    if (!known) return true;
    return known.measuredAt !== undefined && steadyNow(this.#deps.clock) - known.measuredAt >= this.#periodMs;
  }

  async #measure(pod: Pod, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#deps;
    const uid = uidOf(pod);
    const running: Entry = { volumes: this.#known.get(uid)?.volumes ?? [] };
    this.#known.set(uid, running);
    const found = await Promise.all((pod.spec?.volumes ?? []).map((one) => this.#volume(pod, one, signal)));
    if (this.#known.get(uid) !== running) return; // the pod is gone
    this.#known.set(uid, { volumes: found.filter((one) => one !== undefined), measuredAt: steadyNow(clock) });
  }

  /** `undefined`: nothing there to measure. */
  async #volume(pod: Pod, volume: Volume, signal: AbortSignal | undefined): Promise<VolumeUse | undefined> {
    const { rootDir, own, logger } = this.#deps;
    const uid = uidOf(pod);
    const { name } = volume;
    try {
      const path = own?.fileSystemOf(pod, volume);
      if (path !== undefined) return await this.#fileSystem(pod, volume, path);
      const kind = kinds.find((each) => volume[each] !== undefined);
      return (
        kind &&
        (await this.#folder(volume, layout.volumeDir(rootDir, uid, volumePlugins[kind], name), signal))
      );
    } catch (reason) {
      if (!signal?.aborted)
        logger.warn('a volume was not measured', { uid, volume: name, err: messageOf(reason) });
      return undefined;
    }
  }

  /** One that is a part of the node's file system: what lies in it is counted. */
  async #folder(
    volume: Volume,
    folder: string,
    signal: AbortSignal | undefined,
  ): Promise<VolumeUse | undefined> {
    const { measure, statFs = fsUsage } = this.#deps;
    const [used, fs] = await Promise.all([measure(folder, signal), statFs(folder)]);
    if (!used) return undefined;
    const { usedBytes: _, ...whole } = fs ?? {};
    const amounts = { usedBytes: used.bytes, inodesUsed: used.inodes };
    return {
      name: volume.name,
      ...amounts,
      ephemeral: isEphemeral(volume),
      ...(fs && { fs: whole as typeof fs }),
    };
  }

  /** Follows kubelet `metricsStatFS`. @throws when it does not answer */
  async #fileSystem(pod: Pod, volume: Volume, path: string): Promise<VolumeUse | undefined> {
    const { own, statFs = fsUsage } = this.#deps;
    await own?.answers(path); // else a file server that is gone would keep a thread for good
    const found = await statFs(path);
    if (!found) return undefined;
    const { usedBytes, ...fs } = found;
    const claim = claimNameOf(nameOf(pod), volume);
    return {
      name: volume.name,
      usedBytes,
      inodesUsed: fs.inodes - fs.inodesFree,
      ephemeral: false,
      fs,
      ...(claim !== undefined && { claim: { name: claim, namespace: namespaceOf(pod) } }),
    };
  }
}

const kinds = Object.keys(volumePlugins) as readonly (keyof typeof volumePlugins)[];

/** Follows kubelet `IsLocalEphemeralVolume`. */
const isEphemeral = ({ emptyDir, configMap }: Volume): boolean =>
  (emptyDir !== undefined && (emptyDir.medium ?? '') === '') || configMap !== undefined;
