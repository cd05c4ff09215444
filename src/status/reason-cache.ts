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
  /** Oldest use first. */
  readonly #reasons = new Map<string, StartFailure>();

  /** Takes what a sync tried: a start that failed is remembered, one that worked forgotten. */
  update(uid: string, results: readonly SyncResult[]): void {
    for (const { action, target, reason, message = '' } of results) {
      if (action !== 'StartContainer') continue;
      if (reason === undefined) this.remove(uid, target);
      else this.#add(keyOf(uid, target), { reason, message });
    }
  }

  get(uid: string, container: string): StartFailure | undefined {
    const key = keyOf(uid, container);
    const found = this.#reasons.get(key);
    if (found) this.#add(key, found);
    return found;
  }

  remove(uid: string, container: string): void {
    this.#reasons.delete(keyOf(uid, container));
  }

  #add(key: string, failure: StartFailure): void {
    this.#reasons.delete(key);
    this.#reasons.set(key, failure);
    for (const oldest of this.#reasons.keys()) {
      if (this.#reasons.size <= maxReasons) return;
      this.#reasons.delete(oldest);
    }
  }
}

const keyOf = (uid: string, container: string): string => `${uid}_${container}`;
