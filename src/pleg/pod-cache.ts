import { emptyPodStatus, type RuntimePodStatus } from '../provider/runtime-pod.ts';

/** The cached observation of one pod: the last status and, if the last inspection failed, its error. */
interface Entry {
  readonly status: RuntimePodStatus;
  readonly error: Error | undefined;
  /** When the inspection that found this status began. */
  readonly modifiedAt: number;
  /** When the pod was last observed to be unchanged. */
  readonly observedAt: number;
}

const never: Pick<Entry, 'modifiedAt' | 'observedAt'> = { modifiedAt: -Infinity, observedAt: -Infinity };

interface Waiter {
  readonly newerThan: number;
  readonly settle: () => void;
}

/**
 * PodCache holds the last observed runtime status of each pod, by UID. A pod without an entry has no containers. Times are ms since the
 * epoch.
 *
 * `getNewerThan` returns at once only when the cached data is *newer* than requested, but a waiting call also accepts data of the *same*
 * time, because that observation was made after the call. Deleting an entry wakes no waiting call (R112, R232).
 *
 * Follows kubelet `container.Cache`.
 */
export class PodCache {
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #onWait: ((uid: string) => void) | undefined;
  /** All pods were observed at or after this time. */
  #updatedAt = -Infinity;

  /** @param onWait called with the UID whenever a call begins to wait, so that the pod can be relisted soon */
  constructor(onWait?: (uid: string) => void) {
    this.#onWait = onWait;
  }

  /** The last status; empty lists for a pod that is not cached. @throws the error of the last inspection */
  get(uid: string): RuntimePodStatus {
    const entry = this.#entries.get(uid);
    if (entry?.error) throw entry.error;
    return entry?.status ?? emptyStatus(uid);
  }

  /** The last status, also after a failed inspection; `undefined` when the pod is not cached. Never throws. */
  peek(uid: string): RuntimePodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Stores the result of an inspection that began at `modifiedAt`, in place of any other, and wakes the calls that waited for it. */
  set(uid: string, status: RuntimePodStatus, error: Error | undefined, modifiedAt: number): void {
    this.#entries.set(uid, { status, error, modifiedAt, observedAt: modifiedAt });
    this.#wake(uid, modifiedAt);
  }

  /** Records that the pod was unchanged at `observedAt`, and wakes the calls that waited for it, even when nothing is cached. */
  setObservedTime(uid: string, observedAt: number): void {
    const entry = this.#entries.get(uid);
    if (entry) this.#entries.set(uid, { ...entry, observedAt });
    this.#wake(uid, observedAt);
  }

  delete(uid: string): void {
    this.#entries.delete(uid);
  }

  /** Records that all pods, cached or not, were observed at `updatedAt`. */
  updateTime(updatedAt: number): void {
    this.#updatedAt = updatedAt;
    for (const uid of [...this.#waiters.keys()]) this.#wake(uid, updatedAt);
  }

  /**
   * Returns the status from an observation newer than `newerThan`, and waits for one when the cache has none.
   *
   * @throws the inspection's error, or the signal's reason
   */
  async getNewerThan(uid: string, newerThan: number, signal?: AbortSignal): Promise<RuntimePodStatus> {
    const { modifiedAt, observedAt } = this.#entries.get(uid) ?? never;
    if (Math.max(this.#updatedAt, modifiedAt, observedAt) <= newerThan)
      await this.#observation(uid, newerThan, signal);
    return this.get(uid);
  }

  /** The number of waiting calls. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** The UIDs of the pods for which calls wait. */
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
