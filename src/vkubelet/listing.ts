import { type Clock, steadyNow } from '../base/clock.ts';
import { copyOf } from '../base/copy.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { nameOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { Calls } from './calls.ts';
import type { AnyProvider } from './contract.ts';
import { type Entries, type Entry } from './entries.ts';
import { failureOf } from './errors.ts';
import { hasEnded, isUp } from './pod-status.ts';

/** Between two listings of a provider that does not notify, ms. */
export const pollPeriodMs = 5000;
const notifierListPeriodMs = 60_000;

const notFoundReported = {
  phase: 'Failed',
  reason: 'NotFound',
  message: 'The pod status was not found and may have been deleted from the provider',
} as const;

export interface ListingDeps {
  readonly handler: AnyProvider;
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly calls: Calls;
  readonly entries: Entries;
  /** Default: 5 s, or 1 min for a provider that notifies. */
  readonly listPeriodMs?: number | undefined;
  /** Whether a pod that was lost is created again instead of failing. */
  readonly mayRecreate: (pod: Pod) => boolean;
}

/** Lists a provider's pods again and again; a listing that fails says nothing about any pod. */
export class Listing {
  readonly #deps: ListingDeps;
  readonly #stop = new AbortController();
  #listing: Promise<void> | undefined;
  /** Absent: the last listing succeeded. */
  #fault: unknown = new AgentError('unavailable', 'the pods of the provider were not listed yet');
  #listedAt = -Infinity;

  constructor(deps: ListingDeps) {
    this.#deps = deps;
  }

  /** Aborts when the listing is stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Lists until {@link stop}. */
  async run(): Promise<void> {
    const { clock, handler, listPeriodMs } = this.#deps;
    const period = listPeriodMs ?? (handler.notifyPods ? notifierListPeriodMs : pollPeriodMs);
    while (!this.#stop.signal.aborted) {
      await this.list(this.#stop.signal);
      const pause = this.#fault === undefined ? period : Math.min(period, pollPeriodMs);
      await clock.sleep(pause, this.#stop.signal).catch(() => undefined);
    }
  }

  /** Resolves once there was a listing; rejects while the last one failed. */
  async listedOnce(signal?: AbortSignal): Promise<void> {
    if (this.#listedAt === -Infinity && this.#listing === undefined) await this.list(signal);
    else if (this.#listedAt === -Infinity) await this.#listing;
    if (this.#fault !== undefined) throw this.#fault as Error;
  }

  /** Lists the provider's pods; calls at one time share one listing. Never rejects. */
  list(signal: AbortSignal = this.#stop.signal): Promise<void> {
    this.#listing ??= this.#listNow(signal).finally(() => (this.#listing = undefined));
    return this.#listing;
  }

  async #listNow(signal: AbortSignal): Promise<void> {
    const { handler, clock, logger } = this.#deps;
    const requestedAt = steadyNow(clock);
    try {
      const pods: unknown = await this.#deps.calls.ask(
        'getPods',
        (context) => handler.getPods(context),
        signal,
      );
      if (!Array.isArray(pods)) throw new AgentError('internal', 'getPods: the answer is not a list of pods');
      await this.#take(pods as readonly unknown[], requestedAt, signal);
      this.#fault = undefined;
      this.#listedAt = requestedAt;
    } catch (reason) {
      this.#fault = reason instanceof Error ? reason : new Error(messageOf(reason));
      if (!signal.aborted)
        logger.warn('the pods of the provider cannot be listed', {
          provider: this.#deps.name,
          err: messageOf(reason),
        });
    }
  }

  async #take(pods: readonly unknown[], requestedAt: number, signal: AbortSignal): Promise<void> {
    const valid = pods.filter((pod): pod is Pod => isPod(pod));
    const seen = new Set<string>();
    for (const pod of valid) {
      const copy = copyOf(pod);
      const entry = this.#deps.entries.entryOf(copy);
      seen.add(entry.ref.uid);
      this.#takeListed(entry, copy, requestedAt);
    }
    if (valid.length < pods.length) {
      this.#deps.logger.warn('the listing of the provider holds what is no pod', {
        provider: this.#deps.name,
      });
      return;
    }
    for (const entry of this.#deps.entries.all())
      if (!seen.has(entry.ref.uid) && entry.changedAt < requestedAt) await this.#missed(entry, signal);
  }

  #takeListed(entry: Entry, pod: Pod, requestedAt: number): void {
    entry.misses = 0;
    if (entry.changedAt > requestedAt) return;
    if (entry.state === 'gone') {
      // removed, and shown still: removed again, until the listing shows it no more
      if (isUp(this.#deps.entries.runtimeStatus(entry, pod.status))) entry.state = 'made';
      return;
    }
    entry.state = 'made';
    if (!entry.pod.spec && pod.spec) entry.pod = pod;
    this.#deps.entries.take(entry, pod.status);
  }

  /** A pod that two listings in a row do not show, and of which the provider knows no status, is lost. */
  async #missed(entry: Entry, signal: AbortSignal): Promise<void> {
    if (entry.state !== 'made') return;
    entry.misses += 1;
    if (entry.misses < 2) return;
    const { misses } = entry;
    try {
      await this.#lookFor(entry, signal);
    } catch {
      entry.misses = misses; // nothing is concluded from what was not answered
    }
  }

  async #lookFor(entry: Entry, signal: AbortSignal): Promise<void> {
    const { handler } = this.#deps;
    const { namespace, name } = entry.ref;
    let status: PodStatus | undefined;
    try {
      status = await this.#deps.calls.ask(
        'getPodStatus',
        (context) => handler.getPodStatus(namespace, name, context),
        signal,
      );
    } catch (reason) {
      if (failureOf(reason).kind !== 'notFound') throw reason;
    }
    if (status != null) {
      this.#deps.entries.take(entry, status);
      return;
    }
    const lost = !entry.deleted && !hasEnded(entry.status) && !this.#deps.mayRecreate(entry.pod);
    this.#deps.entries.gone(entry, lost ? notFoundReported : {});
  }
}

/** Whether a value is a pod of some name: providers may return anything. */
export const isPod = (value: unknown): value is Pod => {
  const { metadata } = (value ?? {}) as { readonly metadata?: unknown };
  return typeof metadata === 'object' && metadata !== null && nameOf(value as Pod) !== '';
};
