import { messageOf } from '../base/errors.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, Volume } from '../kube/types.ts';
import { layout, volumePlugins } from '../volumes/layout.ts';
import type { FsUsage } from '../server/usage.ts';
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
}

export interface VolumeUsageDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly measure: MeasureDisk;
  /** How full the file system of a path is; default: what the kernel says. */
  readonly statFs?: typeof fsUsage;
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
    const found = await Promise.all((pod.spec?.volumes ?? []).map((one) => this.#volume(uid, one, signal)));
    if (this.#known.get(uid) !== running) return; // the pod is gone
    this.#known.set(uid, { volumes: found.filter((one) => one !== undefined), measuredAt: steadyNow(clock) });
  }

  /** `undefined`: nothing there to measure. */
  async #volume(
    uid: string,
    volume: Volume,
    signal: AbortSignal | undefined,
  ): Promise<VolumeUse | undefined> {
    const { rootDir, measure, logger, statFs = fsUsage } = this.#deps;
    const kind = kinds.find((each) => volume[each] !== undefined);
    if (!kind) return undefined;
    const { name } = volume;
    try {
      const folder = layout.volumeDir(rootDir, uid, volumePlugins[kind], name);
      const [used, fs] = await Promise.all([measure(folder, signal), statFs(folder)]);
      if (!used) return undefined;
      const { usedBytes: _, ...whole } = fs ?? {};
      const amounts = { usedBytes: used.bytes, inodesUsed: used.inodes };
      return { name, ...amounts, ephemeral: isEphemeral(volume), ...(fs && { fs: whole as typeof fs }) };
    } catch (reason) {
      if (!signal?.aborted)
        logger.warn('a volume was not measured', { uid, volume: name, err: messageOf(reason) });
      return undefined;
    }
  }
}

const kinds = Object.keys(volumePlugins) as readonly (keyof typeof volumePlugins)[];

/** Follows kubelet `IsLocalEphemeralVolume`. */
const isEphemeral = ({ emptyDir, configMap }: Volume): boolean =>
  (emptyDir !== undefined && (emptyDir.medium ?? '') === '') || configMap !== undefined;
