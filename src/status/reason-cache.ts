import { LRUCache } from 'lru-cache';
import type { SyncResult } from '../provider/provider.ts';
import type { StartFailure } from './container-statuses.ts';

/** How many containers are remembered. */
export const maxReasons = 1000;

/**
 * Why containers could not be started lately, the last {@link maxReasons} of them (R151, R181, R224).
 *
 * Follows kubelet `ReasonCache`.
 */
export class ReasonCache {
  readonly #reasons = new LRUCache<string, StartFailure>({ max: maxReasons });

  /** Takes what a sync tried: a start that failed is remembered, one that worked forgotten. */
  update(uid: string, results: readonly SyncResult[]): void {
    for (const { action, target, reason, message = '' } of results) {
      if (action !== 'StartContainer') continue;
      if (reason === undefined) this.remove(uid, target);
      else this.#reasons.set(keyOf(uid, target), { reason, message });
    }
  }

  get(uid: string, container: string): StartFailure | undefined {
    return this.#reasons.get(keyOf(uid, container));
  }

  remove(uid: string, container: string): void {
    this.#reasons.delete(keyOf(uid, container));
  }
}

const keyOf = (uid: string, container: string): string => `${uid}_${container}`;
