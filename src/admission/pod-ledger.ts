import { uidOf } from '../kube/names.ts';
import { milliValueOf, valueOf } from '../kube/resources/quantity.ts';
import { podRequests } from '../kube/resources/resources.ts';
import type { Pod, PodSpec } from '../kube/types.ts';

/** Amounts by resource name: cpu in milli-cores, all else in units. */
export type Totals = ReadonlyMap<string, number>;

const nothing: Totals = new Map();

interface Entry {
  readonly spec: PodSpec | undefined;
  readonly requests: Totals;
}

/** What a pod asks for. */
export function requestsOf(pod: Pod): Totals {
  return new Map(
    Object.entries(podRequests(pod)).map(([name, amount]) => [
      name,
      name === 'cpu' ? milliValueOf(amount) : valueOf(amount),
    ]),
  );
}

/**
 * What all desired pods together ask for, kept as they come and go: never less than what those take up that are active, so what fits
 * beside this fits. Asking costs the same however many pods there are.
 */
export class PodLedger {
  readonly #entries = new Map<string, Entry>();
  readonly #totals = new Map<string, number>();
  #last: Totals = nothing;

  /** Pods whose amounts cannot be read. */
  readonly #unread = new Set<string>();

  /** Whether the amounts of all pods could be read; otherwise the sums say too little. */
  get complete(): boolean {
    return this.#unread.size === 0;
  }

  /** How many pods there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** What all but this pod ask for of one resource. */
  used(name: string, without: string): number {
    return (this.#totals.get(name) ?? 0) - (this.#entries.get(without)?.requests.get(name) ?? 0);
  }

  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  set(pod: Pod): void {
    const uid = uidOf(pod);
    const known = this.#entries.get(uid);
    if (known && known.spec === pod.spec) return;
    this.delete(uid);
    const requests = readable(pod);
    // pods mostly ask for the same: those that follow each other keep one list of it
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
