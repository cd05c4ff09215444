import type { Node } from '../workload/types.ts';

/** How many of a zone's nodes are down: all, many (more than two, and 55 % or more), or less. */
export type ZoneState = 'initial' | 'normal' | 'partial' | 'full';

/** The share of nodes that are down from which on a zone is disrupted (`--unhealthy-zone-threshold`). */
const unhealthyShare = 0.55;
/** Nodes per second that are tainted in a zone (`--node-eviction-rate`). */
const tainting = 0.1;
/** The same in a large zone that is partly down (`--secondary-node-eviction-rate`). */
const slowTainting = 0.01;
/** A zone with more nodes is large (`--large-cluster-size-threshold`). */
const largeZone = 50;

/** Returns the zone of a node by its region and zone labels. */
export function zoneOf({ metadata }: Node): string {
  const label = (stable: string, beta: string): string =>
    metadata?.labels?.[stable] ?? metadata?.labels?.[beta] ?? '';
  const region = label('topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region');
  const zone = label('topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone');
  return `${region}/${zone}`;
}

/** Returns the state of a zone. @param ready the statuses of its nodes' Ready conditions */
export function zoneState(ready: readonly (string | undefined)[]): ZoneState {
  const down = ready.filter((status) => status !== 'True').length;
  if (down > 0 && down === ready.length) return 'full';
  return down > 2 && down / ready.length >= unhealthyShare ? 'partial' : 'normal';
}

/** Returns how many nodes per second are tainted in a zone: a small zone that is partly down waits. */
export function taintingRate(state: ZoneState, nodes: number): number {
  if (state !== 'partial') return tainting;
  return nodes > largeZone ? slowTainting : 0;
}

/** TaintQueue holds the nodes of a zone that are to be tainted, and lets them go at a rate. */
export class TaintQueue {
  readonly #names = new Set<string>();
  #rate = tainting;
  /** When the next node may go, ms. */
  #nextAt = Number.NEGATIVE_INFINITY;

  add(name: string): void {
    this.#names.add(name);
  }

  remove(name: string): void {
    this.#names.delete(name);
  }

  /** Sets another rate, per second; 0 stops. A queue that was waiting waits for a whole turn of the new rate. */
  setRate(rate: number, now: number): void {
    if (rate === this.#rate) return;
    const isWaiting = this.#rate === 0 || now < this.#nextAt;
    this.#rate = rate;
    this.#nextAt = isWaiting && rate > 0 ? now + 1000 / rate : now;
  }

  /** Returns the node whose turn it is; undefined: none, or not yet. It stays until it is removed. */
  next(now: number): string | undefined {
    const [name] = this.#names;
    if (name === undefined || this.#rate === 0 || now < this.#nextAt) return undefined;
    this.#nextAt = now + 1000 / this.#rate;
    return name;
  }
}

const isAllDown = (states: ReadonlyMap<string, ZoneState>): boolean =>
  [...states.values()].every((state) => state === 'full');

/** Zones keeps the states of zones and their queues. */
export class Zones {
  readonly #states = new Map<string, ZoneState>();
  readonly #queues = new Map<string, TaintQueue>();

  /** Returns the queue of a node's zone. */
  queueOf(node: Node): TaintQueue {
    return this.#queue(zoneOf(node));
  }

  queues(): readonly TaintQueue[] {
    return [...this.#queues.values()];
  }

  #queue(zone: string): TaintQueue {
    if (!this.#states.has(zone)) {
      this.#states.set(zone, 'initial');
      this.#queues.set(zone, new TaintQueue());
    }
    const queue = this.#queues.get(zone) ?? new TaintQueue();
    this.#queues.set(zone, queue);
    return queue;
  }

  /**
   * Takes what a pass has found, and sets the rates (`handleDisruption`). When every zone is down, the fault is rather on this side: all
   * tainting stops.
   *
   * @param found the statuses of the Ready conditions by zone
   * @returns `stopped` when every zone has gone down, `resumed` when the first node is back
   */
  update(
    found: ReadonlyMap<string, readonly (string | undefined)[]>,
    now: number,
  ): 'stopped' | 'resumed' | undefined {
    for (const zone of this.#states.keys()) if (!found.has(zone)) this.#states.delete(zone);
    for (const zone of found.keys()) this.#queue(zone);
    const states = new Map([...found].map(([zone, ready]) => [zone, zoneState(ready)]));
    const [wasDown, isDown] = [isAllDown(this.#states), isAllDown(states)];
    if (wasDown && isDown) return undefined;
    for (const [zone, ready] of found) this.#enter(zone, zoneState(ready), { ready, wasDown, isDown, now });
    if (isDown) return 'stopped';
    return wasDown ? 'resumed' : undefined;
  }

  #enter(zone: string, state: ZoneState, { ready, wasDown, isDown, now }: Turn): void {
    if (!isDown && !wasDown && state === this.#states.get(zone)) return;
    this.#queue(zone).setRate(isDown ? 0 : taintingRate(state, ready.length), now);
    this.#states.set(zone, state);
  }
}

interface Turn {
  readonly ready: readonly (string | undefined)[];
  readonly wasDown: boolean;
  readonly isDown: boolean;
  readonly now: number;
}
