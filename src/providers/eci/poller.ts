import { untilAborted } from '../../base/abort.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { EciContainerGroup } from './container-group.ts';
import type { GroupStore } from './group-store.ts';
import type { Listings } from './listings.ts';

export interface PollerDeps {
  readonly store: GroupStore;
  readonly listings: Listings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two polls, ms. */
  readonly intervalMs: number;
  /** Is called with the UIDs of pods whose groups have changed. */
  readonly changed: (uids: readonly string[]) => void;
  /** Is called with all groups of a complete listing; events are among them. */
  readonly listed: (groups: readonly EciContainerGroup[]) => void;
  /** Removes a group that a pod has beside its own. */
  readonly removeDouble: (groupId: string) => Promise<void>;
}

/** Between two complete listings, ms. */
const fullEveryMs = 60_000;
/** Between two questions for groups that are being deleted, ms. */
const deletingEveryMs = 1000;
/** So many polls may fail before what they showed no longer counts. */
const failuresAllowed = 3;

/**
 * Poller keeps the store true: a complete listing at the start and each minute, cheap status polls between, and those groups by ID that are
 * being deleted. After a failed poll the next one is a complete listing.
 */
export class Poller {
  readonly #deps: PollerDeps;
  #stop: AbortController | undefined;
  #polling: Promise<void> | undefined;
  #fullAt = Number.NEGATIVE_INFINITY;
  #succeededAt: number | undefined;
  #fault: unknown;
  #deletingAt = Number.NEGATIVE_INFINITY;

  constructor(deps: PollerDeps) {
    this.#deps = deps;
  }

  /** Begins to poll, unless it does already. */
  start(): void {
    if (this.#stop) return;
    this.#stop = new AbortController();
    void this.#run(this.#stop.signal);
  }

  /** Ends polling. What was learnt stays. */
  close(): void {
    this.#stop?.abort();
    this.#stop = undefined;
  }

  /**
   * Resolves when the store shows the cloud as it was within the last three polls.
   *
   * @throws {AgentError} `unavailable` when the cloud does not answer: nothing may be concluded from the store then
   */
  async fresh(signal?: AbortSignal): Promise<void> {
    this.start();
    if (this.#succeededAt === undefined && this.#fault === undefined)
      await (signal ? untilAborted(this.poll(), signal) : this.poll());
    const { clock, intervalMs } = this.#deps;
    const ageMs = steadyNow(clock) - (this.#succeededAt ?? Number.NEGATIVE_INFINITY);
    if (ageMs <= failuresAllowed * intervalMs + intervalMs / 2) return;
    throw new AgentError(
      'unavailable',
      `ECI is unreachable: ${this.#fault === undefined ? 'no answer yet' : messageOf(this.#fault)}`,
      {
        cause: this.#fault,
      },
    );
  }

  /** Polls now; a poll in progress serves all who wait for one. Never rejects. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Asks for the groups that are being deleted, for all who wait at once. @throws {EciError} */
  async pollDeleting(): Promise<void> {
    const { clock, store, listings, changed } = this.#deps;
    const now = steadyNow(clock);
    if (now - this.#deletingAt < deletingEveryMs) return;
    this.#deletingAt = now;
    const deleting = store.deleting();
    if (deleting.length === 0) return;
    changed(
      store.applyNamed(
        deleting,
        await listings.named(deleting, this.#stop?.signal ?? new AbortController().signal),
      ),
    );
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs } = this.#deps;
    while (!signal.aborted) {
      await this.poll();
      await clock.sleep(intervalMs, signal).catch(() => undefined);
    }
  }

  async #poll(): Promise<void> {
    const { clock, logger } = this.#deps;
    const signal = this.#stop?.signal ?? new AbortController().signal;
    const startedAt = steadyNow(clock);
    const full = this.#fault !== undefined || startedAt - this.#fullAt >= fullEveryMs;
    try {
      if (full) await this.#pollAll(signal);
      else await this.#pollChanges(signal);
      if (full) this.#fullAt = startedAt;
      this.#succeededAt = steadyNow(clock);
      if (this.#fault !== undefined) logger.info('ECI answers again');
      this.#fault = undefined;
    } catch (reason) {
      if (signal.aborted) return;
      if (this.#fault === undefined)
        logger.warn('ECI poll failed; statuses stay as they are', { error: messageOf(reason) });
      this.#fault = reason;
    }
  }

  async #pollAll(signal: AbortSignal): Promise<void> {
    const { listings, store, changed, listed, removeDouble, logger } = this.#deps;
    const listing = await listings.all(signal);
    const outcome = store.applyListing(listing);
    changed(outcome.changed);
    listed(listing.groups);
    for (const groupId of outcome.doubled) {
      logger.warn('a pod has two container groups; the newer one is removed', { groupId });
      await removeDouble(groupId);
    }
  }

  async #pollChanges(signal: AbortSignal): Promise<void> {
    const { clock, listings, store, changed, intervalMs } = this.#deps;
    await this.pollDeleting();
    const sinceSeconds = Math.ceil(((failuresAllowed + 1) * intervalMs) / 1000);
    changed(store.applyStates(await listings.states(sinceSeconds, signal), clock.now()));
  }
}
