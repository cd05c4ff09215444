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

/** Usage of one volume of a pod. */
export interface VolumeUse {
  readonly name: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** True when the volume lives as long as the pod on the node's disk; it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  /** The file system of the volume; absent: unknown. */
  readonly fs?: Pick<FsUsage, 'capacityBytes' | 'availableBytes' | 'inodes' | 'inodesFree'>;
  /** The persistent volume claim of the volume. */
  readonly claim?: { readonly name: string; readonly namespace: string };
}

/** Volumes that are file systems of their own; see {@link PodVolumes}. */
export type OwnFileSystems = Pick<PodVolumes, 'fileSystemOf' | 'answers'>;

export interface VolumeUsageDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly measure: MeasureDisk;
  /** Measures the file system of a path; default: `statfs`. */
  readonly statFs?: typeof fsUsage;
  /** Absent: no volume is a file system of its own. */
  readonly own?: OwnFileSystems;
}

interface Entry {
  readonly volumes: readonly VolumeUse[];
  /** Steady time in ms; absent: being measured. */
  readonly measuredAt?: number;
}

/**
 * VolumeUsage measures the usage of pods' volumes. As this may take long, it runs in the background, at most once per period and pod, and
 * the last measurements are returned.
 *
 * Follows kubelet `fsResourceAnalyzer` and `volumeStatCalculator`.
 */
export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  readonly #periodMs: number;
  readonly #entries = new Map<string, Entry>();

  /** @param periodMs kubelet `volumeStatsAggPeriod`; 0 or less: nothing is measured */
  constructor(deps: VolumeUsageDeps, periodMs: number) {
    this.#deps = deps;
    this.#periodMs = periodMs;
  }

  /** Returns the last measurements of the pods and starts measuring those that are due. */
  of(pods: readonly Pod[], signal?: AbortSignal): ReadonlyMap<string, readonly VolumeUse[]> {
    const uids = new Set(pods.map(uidOf));
    for (const uid of this.#entries.keys()) if (!uids.has(uid)) this.#entries.delete(uid);
    if (this.#periodMs > 0)
      for (const pod of pods) if (this.#isDue(uidOf(pod))) void this.#measure(pod, signal);
    return new Map([...this.#entries].map(([uid, { volumes }]) => [uid, volumes]));
  }

  /** Returns the last measurements of all pods. */
  get latest(): readonly VolumeUse[] {
    return [...this.#entries.values()].flatMap(({ volumes }) => volumes);
  }

  #isDue(uid: string): boolean {
    const entry = this.#entries.get(uid);
    if (!entry) return true;
    return entry.measuredAt !== undefined && steadyNow(this.#deps.clock) - entry.measuredAt >= this.#periodMs;
  }

  async #measure(pod: Pod, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#deps;
    const uid = uidOf(pod);
    const running: Entry = { volumes: this.#entries.get(uid)?.volumes ?? [] };
    this.#entries.set(uid, running);
    const found = await Promise.all((pod.spec?.volumes ?? []).map((one) => this.#volume(pod, one, signal)));
    if (this.#entries.get(uid) !== running) return; // the pod is gone
    this.#entries.set(uid, {
      volumes: found.filter((one) => one !== undefined),
      measuredAt: steadyNow(clock),
    });
  }

  /** Measures a volume; `undefined` when there is nothing to measure. */
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

  /** Measures a volume that is part of the node's file system by adding up its files. */
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

  /** Measures a volume that is a file system of its own. Follows kubelet `metricsStatFS`. @throws when it does not respond */
  async #fileSystem(pod: Pod, volume: Volume, path: string): Promise<VolumeUse | undefined> {
    const { own, statFs = fsUsage } = this.#deps;
    await own?.answers(path); // statfs on an unreachable file server would block a thread forever
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

/** True when a volume counts as ephemeral storage. Follows kubelet `IsLocalEphemeralVolume`. */
const isEphemeral = ({ emptyDir, configMap }: Volume): boolean =>
  (emptyDir !== undefined && (emptyDir.medium ?? '') === '') || configMap !== undefined;
