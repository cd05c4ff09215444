import { type Observable, Subject } from 'rxjs';
import type { ProbeResult } from './update-pod-status.ts';

/** A result that differs from the one before. */
export interface ResultUpdate {
  readonly containerId: string;
  readonly result: ProbeResult;
  readonly podUid: string;
}

/**
 * The last word of one kind of probe on each container; changes flow to whoever subscribed.
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

  /** All of them, by container ID. */
  entries(): ReadonlyMap<string, ProbeResult> {
    return this.#results;
  }

  /** Notes a result; only a change is told. */
  set(containerId: string, result: ProbeResult, podUid: string): void {
    if (this.#results.get(containerId) === result) return;
    this.#results.set(containerId, result);
    this.#updates.next({ containerId, result, podUid });
  }

  /** Forgets a container without a word. */
  remove(containerId: string): void {
    this.#results.delete(containerId);
  }
}
