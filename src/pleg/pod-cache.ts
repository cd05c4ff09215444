import { emptyPodStatus, type RuntimePodStatus } from '../provider/runtime-pod.ts';

/** What is known of one pod's runtime: the last status and, if the last inspection failed, why. */
interface Entry {
  readonly status: RuntimePodStatus;
  readonly error: Error | undefined;
  /** When the inspection began that told this. */
  readonly modifiedAt: number;
  /** When it was last seen to be so still. */
  readonly observedAt: number;
}

const never: Pick<Entry, 'modifiedAt' | 'observedAt'> = { modifiedAt: -Infinity, observedAt: -Infinity };

interface Waiter {
  readonly newerThan: number;
  readonly settle: () => void;
}

/**
 * The runtime as last seen, by pod UID. A pod without an entry is one without containers. Instants are ms since the epoch.
 *
 * `getNewerThan` answers at once only with data *newer* than asked for, but wakes on data newer *or equal*: the observation that
 * carries the same instant was made after the question. Deleting wakes nobody (R112, R232).
 *
 * Follows kubelet `container.Cache`.
 */
export class PodCache {
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #onWait: ((uid: string) => void) | undefined;
  /** All pods were observed at or after this. */
  #updatedAt = -Infinity;

  /** @param onWait told the pod whenever a reader begins to wait, so that it can be looked at soon */
  constructor(onWait?: (uid: string) => void) {
    this.#onWait = onWait;
  }

  /** The last status; empty lists for a pod that is not cached. @throws the error of the last inspection */
  get(uid: string): RuntimePodStatus {
    const entry = this.#entries.get(uid);
    if (entry?.error) throw entry.error;
    return entry?.status ?? emptyStatus(uid);
  }

  /** The last successful or failed observation without throwing; `undefined` when the pod is not cached. */
  peek(uid: string): RuntimePodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Takes in what an inspection that began at `modifiedAt` found, whatever was there, and wakes who waited for it. */
  set(uid: string, status: RuntimePodStatus, error: Error | undefined, modifiedAt: number): void {
    this.#entries.set(uid, { status, error, modifiedAt, observedAt: modifiedAt });
    this.#wake(uid, modifiedAt);
  }

  /** The pod was seen unchanged at `observedAt`. Who waits is answered even when nothing is cached. */
  setObservedTime(uid: string, observedAt: number): void {
    const entry = this.#entries.get(uid);
    if (entry) this.#entries.set(uid, { ...entry, observedAt });
    this.#wake(uid, observedAt);
  }

  delete(uid: string): void {
    this.#entries.delete(uid);
  }

  /** All pods were observed at `updatedAt`, cached or not. */
  updateTime(updatedAt: number): void {
    this.#updatedAt = updatedAt;
    for (const uid of [...this.#waiters.keys()]) this.#wake(uid, updatedAt);
  }

  /**
   * The status from an observation newer than `newerThan`; waits for one if need be.
   *
   * @throws the inspection's error, or the signal's reason
   */
  async getNewerThan(uid: string, newerThan: number, signal?: AbortSignal): Promise<RuntimePodStatus> {
    const { modifiedAt, observedAt } = this.#entries.get(uid) ?? never;
    if (Math.max(this.#updatedAt, modifiedAt, observedAt) <= newerThan)
      await this.#observation(uid, newerThan, signal);
    return this.get(uid);
  }

  /** How many readers wait. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** UIDs of pods whose readers wait for an observation. */
  awaited(): Iterable<string> {
    return this.#waiters.keys();
  }

  #observation(uid: string, newerThan: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const waiter: Waiter = {
        newerThan,
        settle: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = (): void => {
        this.#forget(uid, waiter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
      const waiters = this.#waiters.get(uid);
      if (waiters) waiters.add(waiter);
      else this.#waiters.set(uid, new Set([waiter]));
      this.#onWait?.(uid);
    });
  }

  #wake(uid: string, observedAt: number): void {
    this.#waiters.get(uid)?.forEach((waiter) => {
      if (waiter.newerThan > observedAt) return;
      this.#forget(uid, waiter);
      waiter.settle();
    });
  }

  #forget(uid: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(uid);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(uid);
  }
}

/** The status of a pod that the runtime does not know. */
export const emptyStatus = (uid: string): RuntimePodStatus =>
  emptyPodStatus({ uid, name: '', namespace: '' });
