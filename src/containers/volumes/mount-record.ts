import { uidOf } from '../../kube/names.ts';
import type { Pod, Volume } from '../../kube/types.ts';

/** Pause after a failed mount, ms: doubling, as kubelet's operation executor has it. */
const retry = { baseMs: 500, maxMs: 122_000 };

/** How far one volume is. */
interface Entry {
  readonly stands: boolean;
  /** 0: the last try succeeded. */
  readonly pauseMs: number;
  /** When it may be tried again, by the steady clock. */
  readonly dueAt: number;
}

const untried: Entry = { stands: false, pauseMs: 0, dueAt: -Infinity };

/**
 * Which volumes stand, and when those that failed are tried again: kept from one step of a pod to the next. A volume that stood once stands
 * until it is unmounted, also while nobody can tell what to write into it.
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

  /** Nothing of the pod stands, or it is about to go. */
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
