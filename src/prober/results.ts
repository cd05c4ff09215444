import { type Observable, Subject } from 'rxjs';
import type { ProbeResult } from './update-pod-status.ts';

/** A changed probe result. */
export interface ResultUpdate {
  readonly containerId: string;
  readonly result: ProbeResult;
  readonly podUid: string;
}

/**
 * ProbeResults holds the last result of one kind of probe for each container, and sends changes to its subscribers.
 *
 * Follows kubelet `results.Manager`.
 */
export class ProbeResults {
  readonly #results = new Map<string, ProbeResult>();
  readonly #updates = new Subject<ResultUpdate>();

  get updates(): Observable<ResultUpdate> {
    return this.#updates;
  }

  get(containerId: string): ProbeResult | undefined {
    return this.#results.get(containerId);
  }

  /** All results, by container ID. */
  entries(): ReadonlyMap<string, ProbeResult> {
    return this.#results;
  }

  /** Stores a result; subscribers are notified only when it changed. */
  set(containerId: string, result: ProbeResult, podUid: string): void {
    if (this.#results.get(containerId) === result) return;
    this.#results.set(containerId, result);
    this.#updates.next({ containerId, result, podUid });
  }

  /** Removes a container's result without notifying subscribers. */
  remove(containerId: string): void {
    this.#results.delete(containerId);
  }
}
