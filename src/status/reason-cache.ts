import { LRUCache } from 'lru-cache';
import type { SyncResult } from '../provider/provider.ts';
import type { StartFailure } from './container-statuses.ts';

/** The number of containers that the cache holds at most. */
export const maxReasons = 1000;

/**
 * ReasonCache holds why the last start of a container failed, for the last {@link maxReasons} containers (R151, R181, R224).
 *
 * Follows kubelet `ReasonCache`.
 */
export class ReasonCache {
  /** Made at the first failure: it reserves room for all its entries, and a process may run thousands of nodes. */
  #reasons: LRUCache<string, StartFailure> | undefined;

  /** Records the results of a sync: a failed start is stored, a successful one removed. */
  update(uid: string, results: readonly SyncResult[]): void {
    for (const { action, target, reason, message = '' } of results) {
      if (action !== 'StartContainer') continue;
      if (reason === undefined) this.remove(uid, target);
      else this.#set(keyOf(uid, target), { reason, message });
    }
  }

  #set(key: string, failure: StartFailure): void {
    this.#reasons ??= new LRUCache<string, StartFailure>({ max: maxReasons });
    this.#reasons.set(key, failure);
  }

  get(uid: string, container: string): StartFailure | undefined {
    return this.#reasons?.get(keyOf(uid, container));
  }

  remove(uid: string, container: string): void {
    this.#reasons?.delete(keyOf(uid, container));
  }
}

const keyOf = (uid: string, container: string): string => `${uid}_${container}`;
