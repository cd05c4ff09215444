import { uidOf } from '../kube/names.ts';
import { milliValueOf, valueOf } from '../kube/resources/quantity.ts';
import { podRequests } from '../kube/resources/resources.ts';
import type { Pod, PodSpec } from '../kube/types.ts';

/** Amounts by resource name: cpu in millicores, others in units. */
export type Totals = ReadonlyMap<string, number>;

const nothing: Totals = new Map();

interface Entry {
  readonly spec: PodSpec | undefined;
  readonly requests: Totals;
}

/** Returns a pod's requests. */
export function requestsOf(pod: Pod): Totals {
  return new Map(
    Object.entries(podRequests(pod)).map(([name, amount]) => [
      name,
      name === 'cpu' ? milliValueOf(amount) : valueOf(amount),
    ]),
  );
}

/**
 * PodLedger keeps the sum of the requests of all desired pods. It is never less than that of the active pods, so a pod that fits next
 * to it fits. The cost of a query does not depend on the number of pods.
 */
export class PodLedger {
  readonly #entries = new Map<string, Entry>();
  readonly #totals = new Map<string, number>();
  #last: Totals = nothing;

  /** Pods whose requests could not be parsed. */
  readonly #unread = new Set<string>();

  /** True when the requests of all pods could be parsed; otherwise the sums are too low. */
  get complete(): boolean {
    return this.#unread.size === 0;
  }

  /** Number of pods. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the requests of one resource by all pods but one. */
  used(name: string, without: string): number {
    return (this.#totals.get(name) ?? 0) - (this.#entries.get(without)?.requests.get(name) ?? 0);
  }

  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  set(pod: Pod): void {
    const uid = uidOf(pod);
    const previous = this.#entries.get(uid);
    if (previous && previous.spec === pod.spec) return;
    this.delete(uid);
    const requests = readable(pod);
    // Consecutive pods often have equal requests, so they share one map.
    if (requests && !sameTotals(requests, this.#last)) this.#last = requests;
    const entry = { spec: pod.spec, requests: requests ? this.#last : nothing };
    if (!requests) this.#unread.add(uid);
    this.#entries.set(uid, entry);
    this.#add(entry, 1);
  }

  delete(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#entries.delete(uid);
    this.#unread.delete(uid);
    this.#add(entry, -1);
  }

  clear(): void {
    this.#entries.clear();
    this.#totals.clear();
    this.#unread.clear();
  }

  #add({ requests }: Entry, sign: 1 | -1): void {
    for (const [name, amount] of requests)
      this.#totals.set(name, (this.#totals.get(name) ?? 0) + sign * amount);
  }
}

function sameTotals(a: Totals, b: Totals): boolean {
  if (a.size !== b.size) return false;
  for (const [name, amount] of a) if (b.get(name) !== amount) return false;
  return true;
}

function readable(pod: Pod): Totals | undefined {
  try {
    return requestsOf(pod);
  } catch {
    return undefined;
  }
}
