import { uidOf } from '../../kube/names.ts';
import type { Pod, Volume } from '../../kube/types.ts';

/** Back-off after a failed mount, ms; it doubles, as in the kubelet's operation executor. */
const retry = { baseMs: 500, maxMs: 122_000 };

/** State of one volume. */
interface Entry {
  readonly stands: boolean;
  /** Current back-off; 0: the last attempt succeeded. */
  readonly pauseMs: number;
  /** Earliest time of the next attempt, by the steady clock. */
  readonly dueAt: number;
}

const untried: Entry = { stands: false, pauseMs: 0, dueAt: -Infinity };

/**
 * MountRecord keeps which volumes are set up and when failed ones are retried, across syncs of a pod. A volume counts as set up
 * until it is unmounted, even while its content cannot be updated.
 *
 * Follows kubelet `ActualStateOfWorld` and `exponentialbackoff`.
 */
export class MountRecord {
  readonly #pods = new Map<string, Map<string, Entry>>();

  stands(pod: Pod, volume: Volume): boolean {
    return this.#of(pod, volume).stands;
  }

  dueAt(pod: Pod, volume: Volume): number {
    return this.#of(pod, volume).dueAt;
  }

  mounted(pod: Pod, volume: Volume): void {
    this.#set(pod, volume, { ...untried, stands: true });
  }

  failed(pod: Pod, volume: Volume, now: number): void {
    const { stands, pauseMs } = this.#of(pod, volume);
    const pause = pauseMs === 0 ? retry.baseMs : Math.min(pauseMs * 2, retry.maxMs);
    this.#set(pod, volume, { stands, pauseMs: pause, dueAt: now + pause });
  }

  /** Forgets a pod whose volumes are not set up or are being removed. */
  forget(pod: Pod): void {
    this.#pods.delete(uidOf(pod));
  }

  #of(pod: Pod, { name }: Volume): Entry {
    return this.#pods.get(uidOf(pod))?.get(name) ?? untried;
  }

  #set(pod: Pod, { name }: Volume, entry: Entry): void {
    const volumes = this.#pods.get(uidOf(pod)) ?? new Map<string, Entry>();
    this.#pods.set(uidOf(pod), volumes.set(name, entry));
  }
}
