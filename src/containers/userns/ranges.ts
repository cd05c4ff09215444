import { AgentError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { goQuote } from '../../go/go-quote.ts';

/** Ids of users and groups on the host that pods may be given. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** The kernel's ids come in blocks of this size (`userNsUnitLength`). */
export const idUnit = 65_536;

/** How {@link UserRanges} cuts up the node's ids. */
export interface RangeSettings {
  readonly ids: IdRange;
  readonly idsPerPod: number;
  readonly maxPods: number;
  readonly random: Random;
}

/** Which pod has which ids on the host: each has a range of its own, all of one length. Follows kubelet `UsernsManager`. */
export class UserRanges {
  readonly #settings: RangeSettings;
  readonly #offset: number;
  readonly #count: number;
  /** Slots, counted from the node's first id. */
  readonly #slots = new Map<string, number>();
  readonly #taken = new Set<number>();

  /** @throws {AgentError} `invalid_argument` when the node's ids cannot be cut up so */
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
   * Gives a pod a free range, looked for from a random place on, so that ids are not soon used anew.
   *
   * @throws {AgentError} `resource_exhausted` when all are taken
   */
  allocate(uid: string): IdRange {
    const from = Math.floor(this.#settings.random.float() * this.#count);
    for (let step = 0; step < this.#count && this.#taken.size < this.#count; step += 1) {
      const slot = (from + step) % this.#count;
      if (!this.#taken.has(slot)) return this.#take(uid, slot);
    }
    throw new AgentError('resource_exhausted', 'could not find an empty slot to allocate a user namespace');
  }

  /**
   * Notes a range that a pod was given before.
   *
   * @throws {AgentError} `invalid_argument` for one that this node does not give, or that is someone else's
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
    if (has === undefined && this.#taken.has(slot))
      throw unfit(`range picked for pod ${goQuote(uid)} already taken`);
    this.#take(uid, slot);
  }

  /** @returns whether the pod had a range */
  release(uid: string): boolean {
    const slot = this.#slots.get(uid);
    if (slot === undefined) return false;
    this.#slots.delete(uid);
    this.#taken.delete(slot);
    return true;
  }

  #take(uid: string, slot: number): IdRange {
    const { idsPerPod } = this.#settings;
    this.#slots.set(uid, slot);
    this.#taken.add(slot);
    return { first: (this.#offset + slot) * idsPerPod, length: idsPerPod };
  }
}

const unfit = (message: string): AgentError => new AgentError('invalid_argument', message);

/** Id 0 of the host is never a pod's. */
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
