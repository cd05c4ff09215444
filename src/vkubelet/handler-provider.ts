import { type Clock, steadyNow } from '../base/clock.ts';
import { copyOf } from '../base/copy.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import { missingCapabilities, unsupportedReason } from '../provider/capabilities.ts';
import type { ObservedPod, PodSet } from '../provider/hooks.ts';
import type { ProviderAdmission, ProviderDeadlines } from '../provider/powers.ts';
import type { NodeProvider, PodProvider, PodSyncResult, SyncPodRequest } from '../provider/provider.ts';
import type { PodRef } from '../provider/refs.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../provider/runtime-pod.ts';
import { actTimeoutMs, Calls, lookTimeoutMs } from './calls.ts';
import type { AnyProvider, Context } from './contract.ts';
import { Entries, type Entry, firstPauseMs, isStopped, longestPauseMs, statusFor } from './entries.ts';
import { failureOf, type Failure } from './errors.ts';
import { isPod, Listing, pollPeriodMs } from './listing.ts';
import { forProvider, hasChanged } from './pod-changes.ts';
import { isUp } from './pod-status.ts';
import { servedPowers } from './served-powers.ts';

/** What an adapted handler is surrounded by. */
export interface HandlerProviderDeps {
  readonly handler: AnyProvider;
  /** The provider's name, also the scheme of container IDs. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** Resolves the environment of a pod before it is created; absent: providers get pods as they are. */
  readonly resolve?: (pod: Pod) => Promise<Pod>;
  /** Deletes a pod in the API because its backend has deleted it. Absent: its API object stays. */
  readonly deleteInApi?: (pod: Pod, gracePeriodSeconds: number | undefined) => Promise<void>;
  /** How often the provider's pods are listed, ms; default: 5 s, or 1 min for a {@link PodNotifier}. */
  readonly listPeriodMs?: number;
  /**
   * What becomes of a pod that its provider no longer has: it fails with the reason NotFound, as with virtual-kubelet, or it is created again as
   * its restart policy says. Default `fail`.
   */
  readonly lostPods?: 'fail' | 'recreate';
}

/** Between two looks at a pod that is being stopped, ms: each is twice as long as the one before, up to the poll period. */
const firstLookMs = 100;

/**
 * A {@link PodProvider} over a virtual-kubelet provider: pods by UID, one call at a time for each, statuses as pushed or polled, ends as told
 * and not invented. What pods should run, when they end and what is written is decided by the agent around it.
 *
 * @example
 * controller.registerProvider(new HandlerProvider({ name: 'rooms', handler: new Rooms(), clock, logger, recorder }));
 */
export class HandlerProvider implements PodProvider, NodeProvider {
  readonly name: string;
  readonly probedBy: 'agent' | 'provider';
  readonly deadlines: ProviderDeadlines = { syncPod: actTimeoutMs + 3 * lookTimeoutMs };
  readonly recordsEvents = true;
  readonly #deps: HandlerProviderDeps;
  readonly #calls: Calls;
  readonly #entries: Entries;
  readonly #listing: Listing;
  #started = false;

  constructor(deps: HandlerProviderDeps) {
    this.#deps = deps;
    this.name = deps.name;
    this.#calls = new Calls(deps.clock, deps.logger);
    this.#entries = new Entries(deps.name, deps.clock);
    this.#listing = new Listing({
      ...deps,
      calls: this.#calls,
      entries: this.#entries,
      mayRecreate: (pod) => this.#mayRecreate(pod),
    });
    const { probes } = deps.handler.capabilities ?? {};
    this.probedBy = probes === undefined ? 'provider' : 'agent';
    Object.assign(
      this,
      servedPowers(deps.handler, deps.clock, (signal) => this.#calls.context(signal)),
    );
  }

  /** Registers for what the provider tells and lists its pods again and again, until {@link stop}. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { handler } = this.#deps;
    handler.notifyPods?.((pod) => {
      this.#notified(pod);
    }, this.#calls.context(this.#listing.signal));
    void this.#listing.run();
  }

  /** Ends what runs beside the calls. */
  stop(): void {
    this.#listing.stop();
  }

  async ping(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return Promise.resolve();
  }

  admit(pod: Pod): ProviderAdmission {
    const missing = missingCapabilities(pod, this.#deps.handler.capabilities ?? {});
    if (missing.length === 0) return { admit: true };
    return {
      admit: false,
      reason: unsupportedReason,
      message: `provider ${this.name} does not support ${missing.join(', ')}`,
    };
  }

  onPodStatus(listener: (observed: ObservedPod) => void): () => void {
    return this.#entries.changes.on('observed', listener);
  }

  async listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    await this.#listing.listedOnce(signal);
    return Array.from(this.#entries.all(), ({ listed }) => listed);
  }

  async listSome(uids: readonly string[], signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    await this.#listing.listedOnce(signal);
    return uids.flatMap((uid) => this.#entries.get(uid)?.listed ?? []);
  }

  getPodStatus(ref: PodRef): Promise<RuntimePodStatus> {
    return Promise.resolve(this.#entries.get(ref.uid)?.status ?? emptyPodStatus(ref));
  }

  getListedPodStatus(listed: RuntimePod): Promise<RuntimePodStatus> {
    return this.getPodStatus(listed);
  }

  async syncPod({ pod }: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    await this.#listing.listedOnce(signal);
    const entry = this.#entries.get(uidOf(pod));
    if (entry) entry.adopted = false;
    const waits = entry && this.#waiting(entry);
    if (waits) return waits;
    if (entry?.state === 'made') return this.#update(entry, pod, signal);
    if (entry?.state === 'gone' && !this.#mayRecreate(pod)) return { results: [], changed: false };
    return this.#create(pod, signal);
  }

  /** What a sync says between two tries. */
  #waiting({ retryAt, failure }: Entry): PodSyncResult | undefined {
    const leftMs = retryAt - steadyNow(this.#deps.clock);
    if (leftMs <= 0 || !failure) return undefined;
    return { results: [], changed: false, error: failure, backOffUntil: this.#deps.clock.now() + leftMs };
  }

  #mayRecreate({ spec, metadata }: Pod): boolean {
    return (
      this.#deps.lostPods === 'recreate' && spec?.restartPolicy !== 'Never' && !metadata?.deletionTimestamp
    );
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<PodSyncResult> {
    const { handler, recorder } = this.#deps;
    try {
      this.#requireNoPredecessor(pod);
      if (await this.#isThere(pod, signal)) return await this.#created(pod, pod, signal);
      const resolved = await (this.#deps.resolve?.(pod) ?? pod);
      const mine = forProvider(resolved);
      const entry = this.#entries.entryFor(pod, 'tried');
      const before = entry.changedAt;
      await this.#calls.act('createPod', (context) => handler.createPod(copyOf(mine), context), signal);
      recorder.event(pod, 'Normal', 'ProviderCreateSuccess', 'Create pod in provider successfully');
      entry.pod = mine;
      entry.state = 'made';
      this.#succeeded(entry);
      if (entry.changedAt === before) await this.#look(entry, signal, false).catch(() => undefined);
      return { results: [], changed: true };
    } catch (reason) {
      recorder.event(pod, 'Warning', 'ProviderCreateFailed', messageOf(reason));
      return this.#createFailed(pod, reason);
    }
  }

  /** The provider has the pod already: what an earlier try, whose answer did not come, made of it. */
  async #created(pod: Pod, created: Pod, signal: AbortSignal): Promise<PodSyncResult> {
    const entry = this.#entries.entryFor(pod, 'made');
    entry.state = 'made';
    entry.pod = created;
    await this.#look(entry, signal, false).catch(() => undefined);
    return { results: [], changed: true };
  }

  #createFailed(pod: Pod, reason: unknown): PodSyncResult {
    const failure = failureOf(reason);
    const entry = this.#entries.entryFor(pod, 'tried');
    const isFinal = finalKinds.has(failure.kind);
    const message = messageOf(reason);
    const status = emptyPodStatus(entry.ref);
    this.#entries.set(entry, {
      ...status,
      reported: { phase: isFinal ? 'Failed' : 'Pending', reason: 'ProviderFailed', message },
    });
    if (isFinal) return { results: [], changed: true };
    return this.#retry(entry, reason, failure);
  }

  #retry(entry: Entry, reason: unknown, { retryAfterMs }: Failure): PodSyncResult {
    const { clock } = this.#deps;
    const error = reason instanceof Error ? reason : new Error(messageOf(reason));
    const pauseMs = retryAfterMs ?? entry.pauseMs;
    entry.pauseMs = Math.min(2 * entry.pauseMs, longestPauseMs);
    entry.retryAt = steadyNow(clock) + pauseMs;
    entry.failure = error;
    return { results: [], changed: false, error, backOffUntil: clock.now() + pauseMs };
  }

  #succeeded(entry: Entry): void {
    entry.pauseMs = firstPauseMs;
    entry.retryAt = -Infinity;
    delete entry.failure;
  }

  /** A pod of the same name that the provider still has would be taken for this one. */
  #requireNoPredecessor(pod: Pod): void {
    const before = this.#entries.predecessorOf(pod);
    if (before)
      throw new AgentError(
        'unavailable',
        `the provider still has a pod ${keyOf(pod)} of UID ${before.ref.uid}`,
      );
  }

  /** Does the provider have this very pod? Another one of its name has to go first. */
  async #isThere(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { handler } = this.#deps;
    let found: Pod | undefined;
    try {
      const call = (context: Context): Promise<Pod | undefined> =>
        handler.getPod(namespaceOf(pod), nameOf(pod), context);
      found = await this.#calls.ask('getPod', call, signal);
    } catch (reason) {
      // providers may throw anything for a pod that they do not have; what says that it could not look is believed
      if (uncertainKinds.has(failureOf(reason).kind)) throw reason;
    }
    const uid = found?.metadata?.uid;
    if (!found || typeof found !== 'object') return false;
    if (uid === undefined || uid === '' || uid === uidOf(pod)) return true;
    throw new AgentError('unavailable', `the provider still has a pod ${keyOf(pod)} of UID ${uid}`);
  }

  async #update(entry: Entry, pod: Pod, signal: AbortSignal): Promise<PodSyncResult> {
    const { handler, recorder } = this.#deps;
    const next = forProvider(pod);
    const current = entry.pod.spec?.containers ? entry.pod : next;
    if (!hasChanged(current, next) || (entry.refused && !hasChanged(entry.refused, next)))
      return { results: [], changed: false };
    try {
      const resolved = await (this.#deps.resolve?.(pod) ?? pod);
      const mine = { ...forProvider(resolved), status: statusFor(entry) };
      await this.#calls.act('updatePod', (context) => handler.updatePod(copyOf(mine), context), signal);
      recorder.event(pod, 'Normal', 'ProviderUpdateSuccess', 'Update pod in provider successfully');
      entry.pod = mine;
      this.#succeeded(entry);
      delete entry.refused;
      return { results: [], changed: true };
    } catch (reason) {
      recorder.event(pod, 'Warning', 'ProviderUpdateFailed', messageOf(reason));
      const failure = failureOf(reason);
      if (finalKinds.has(failure.kind)) {
        entry.refused = next;
        return { results: [], changed: false };
      }
      return this.#retry(entry, reason, failure);
    }
  }

  async killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const entry = this.#entries.get(running.uid);
    if (!entry || entry.state === 'gone') return;
    if (entry.state === 'made' && !isUp(entry.status)) return;
    // what this agent never asked for is looked at once more: a listing may be late
    if (entry.adopted && !(await this.#isStillListed(entry, signal))) return;
    await this.#delete(entry, pod, gracePeriodSeconds, signal);
    await this.#untilStopped(entry, signal);
  }

  async #isStillListed(entry: Entry, signal: AbortSignal): Promise<boolean> {
    await this.#listing.list(signal);
    await this.#listing.listedOnce(signal);
    return this.#entries.get(entry.ref.uid) === entry && entry.misses === 0;
  }

  async deletePod(ref: PodRef, pod: Pod | undefined, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(ref.uid);
    if (!entry || entry.state === 'gone') return;
    // what was deleted and has ended is mostly gone by now
    if (entry.deleted) await this.#look(entry, signal).catch(() => undefined);
    if (this.#entries.get(ref.uid)?.state === 'gone') return;
    await this.#delete(entry, pod, undefined, signal);
    this.#entries.gone(entry, {});
  }

  async #delete(
    entry: Entry,
    pod: Pod | undefined,
    graceSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { handler, recorder } = this.#deps;
    const subject = pod?.metadata?.namespace === undefined ? entry.pod : pod;
    const metadata = {
      ...entry.pod.metadata,
      ...subject.metadata,
      ...(graceSeconds !== undefined && { deletionGracePeriodSeconds: graceSeconds }),
    };
    const deleted = {
      ...entry.pod,
      ...forProvider({ ...entry.pod, metadata }),
      status: statusFor(entry),
    };
    try {
      await this.#calls.act('deletePod', (context) => handler.deletePod(copyOf(deleted), context), signal);
      entry.deleted = true;
      recorder.event(subject, 'Normal', 'ProviderDeleteSuccess', 'Delete pod in provider successfully');
    } catch (reason) {
      if (failureOf(reason).kind === 'notFound') {
        this.#entries.gone(entry, {});
        return;
      }
      recorder.event(subject, 'Warning', 'ProviderDeleteFailed', messageOf(reason));
      throw withBackOff(reason, failureOf(reason), this.#deps.clock.now());
    }
  }

  /** Resolves when the provider says that nothing of the pod runs, or that it has no such pod; never because time has passed. */
  async #untilStopped(entry: Entry, signal: AbortSignal): Promise<void> {
    for (let ms = firstLookMs; ; ms = Math.min(2 * ms, pollPeriodMs)) {
      if (isStopped(entry)) return;
      await this.#look(entry, signal).catch(() => undefined);
      if (isStopped(entry)) return;
      await this.#changedWithin(entry, ms, signal);
      signal.throwIfAborted();
    }
  }

  /** Waits until the entry changes or `ms` are over. */
  async #changedWithin({ ref }: Entry, ms: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const off = this.#entries.changes.on('observed', ({ pod }) => {
      if (pod.uid === ref.uid) done.abort();
    });
    await this.#deps.clock.sleep(ms, AbortSignal.any([signal, done.signal])).catch(() => undefined);
    off();
  }

  cleanupPods(retained: PodSet): Promise<void> {
    this.#entries.forget(retained);
    return Promise.resolve();
  }

  /**
   * Asks for the status of one pod. Rejects when the provider does not say.
   *
   * @param mayBeGone false: of what was just made nothing is concluded when it is not shown yet
   */
  async #look(entry: Entry, signal: AbortSignal, mayBeGone = true): Promise<void> {
    const { handler, clock } = this.#deps;
    const requestedAt = steadyNow(clock);
    const { namespace, name } = entry.ref;
    let status: PodStatus | undefined;
    try {
      status = await this.#calls.ask(
        'getPodStatus',
        (context) => handler.getPodStatus(namespace, name, context),
        signal,
      );
    } catch (reason) {
      if (failureOf(reason).kind !== 'notFound') throw reason;
    }
    if (entry.state === 'gone') return;
    if (status == null) {
      if (mayBeGone) this.#entries.gone(entry, {});
      return;
    }
    if (entry.changedAt <= requestedAt) this.#entries.take(entry, status);
  }

  #notified(notification: Pod | undefined): void {
    const pod = isPod(notification) ? notification : undefined;
    if (!pod) {
      this.#deps.logger.warn('the provider notified of something that is no pod');
      return;
    }
    const copy = copyOf(pod);
    const entry = this.#entries.entryOf(copy);
    const status = this.#entries.runtimeStatus(entry, copy.status);
    // an end that is reported late, of a pod that is gone already, is better than none
    if (entry.state === 'gone' && isUp(status)) return;
    if (entry.state === 'tried' && copy.status) entry.state = 'made';
    this.#entries.set(entry, status);
    this.#mirrorDeletion(entry, copy);
  }

  /** The backend has deleted the pod: its API object shows it to users. */
  #mirrorDeletion(entry: Entry, { metadata }: Pod): void {
    const { deleteInApi, logger } = this.#deps;
    if (!metadata?.deletionTimestamp || !deleteInApi || entry.adopted || entry.deletedInApi) return;
    entry.deletedInApi = true;
    deleteInApi(entry.pod, metadata.deletionGracePeriodSeconds).catch((reason: unknown) => {
      entry.deletedInApi = false;
      logger.warn('a pod that its provider has deleted could not be deleted in the API', {
        err: messageOf(reason),
      });
    });
  }
}

/** Kinds after which a call is not repeated as it is. */
const finalKinds: ReadonlySet<Failure['kind']> = new Set(['permanent', 'invalidInput', 'notImplemented']);
/** Kinds that say that the provider could not look. */
const uncertainKinds: ReadonlySet<Failure['kind']> = new Set(['unavailable', 'throttled', 'conflict']);

function withBackOff(reason: unknown, { retryAfterMs }: Failure, now: number): Error {
  const error = reason instanceof Error ? reason : new Error(messageOf(reason));
  return retryAfterMs === undefined ? error : Object.assign(error, { backOffUntil: now + retryAfterMs });
}
