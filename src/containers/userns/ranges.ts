import { AgentError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { goQuote } from '../../go/go-quote.ts';

/** A range of user and group ids on the host. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** Ranges are multiples of this number of ids (`userNsUnitLength`). */
export const idUnit = 65_536;

/** How {@link UserRanges} divides the node's ids. */
export interface RangeSettings {
  readonly ids: IdRange;
  readonly idsPerPod: number;
  readonly maxPods: number;
  readonly random: Random;
}

/** UserRanges assigns each pod a range of host ids of equal length. Follows kubelet `UsernsManager`. */
export class UserRanges {
  readonly #settings: RangeSettings;
  readonly #offset: number;
  readonly #count: number;
  /** Slot of each pod, counted from the node's first id. */
  readonly #slots = new Map<string, number>();
  readonly #usedSlots = new Set<number>();

  /** @throws {AgentError} `invalid_argument` when the node's ids cannot be divided like this */
  constructor(settings: RangeSettings) {
    const fault = faultOf(settings);
    if (fault !== undefined) throw new AgentError('invalid_argument', fault);
    this.#settings = settings;
    this.#offset = settings.ids.first / settings.idsPerPod;
    this.#count = settings.ids.length / settings.idsPerPod;
  }

  get pods(): readonly string[] {
    return [...this.#slots.keys()];
  }

  /**
   * Allocates a free range for a pod; the search starts at a random slot, so that ids are not soon reused.
   *
   * @throws {AgentError} `resource_exhausted` when no range is free
   */
  allocate(uid: string): IdRange {
    const from = Math.floor(this.#settings.random.float() * this.#count);
    for (let step = 0; step < this.#count && this.#usedSlots.size < this.#count; step += 1) {
      const slot = (from + step) % this.#count;
      if (!this.#usedSlots.has(slot)) return this.#take(uid, slot);
    }
    throw new AgentError('resource_exhausted', 'could not find an empty slot to allocate a user namespace');
  }

  /**
   * Records a range that was allocated to a pod before a restart.
   *
   * @throws {AgentError} `invalid_argument` for a range that does not fit the settings or is allocated to another pod
   */
  record(uid: string, { first, length }: IdRange): void {
    const { idsPerPod } = this.#settings;
    const slot = first / idsPerPod - this.#offset;
    const has = this.#slots.get(uid);
    if (length !== idsPerPod) throw unfit(`wrong user namespace length ${length}`);
    if (!Number.isInteger(slot)) throw unfit(`wrong user namespace offset specified ${first}`);
    if (has !== undefined && has !== slot)
      throw unfit(`different user namespace range already used by pod ${goQuote(uid)}`);
    if (slot < 0 || slot >= this.#count) throw unfit(`id ${first} is out of range`);
    if (has === undefined && this.#usedSlots.has(slot))
      throw unfit(`range picked for pod ${goQuote(uid)} already taken`);
    this.#take(uid, slot);
  }

  /** Releases a pod's range. @returns true when the pod had one */
  release(uid: string): boolean {
    const slot = this.#slots.get(uid);
    if (slot === undefined) return false;
    this.#slots.delete(uid);
    this.#usedSlots.delete(slot);
    return true;
  }

  #take(uid: string, slot: number): IdRange {
    const { idsPerPod } = this.#settings;
    this.#slots.set(uid, slot);
    this.#usedSlots.add(slot);
    return { first: (this.#offset + slot) * idsPerPod, length: idsPerPod };
  }
}

const unfit = (message: string): AgentError => new AgentError('invalid_argument', message);

/** Returns what is wrong with the settings; the host's id 0 is never assigned. */
function faultOf({ ids, idsPerPod, maxPods }: RangeSettings): string | undefined {
  const { first, length } = ids;
  if (idsPerPod % idUnit !== 0)
    return `kubelet user namespace length ${idsPerPod} is not a multiple of ${idUnit}`;
  if (first % idsPerPod !== 0) return `kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`;
  if (first < idsPerPod) return `kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`;
  if (length % idsPerPod !== 0)
    return `kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`;
  return length / idsPerPod < maxPods
    ? `kubelet user assigned IDs are not enough to support ${maxPods} pods`
    : undefined;
}
