import type { Observable } from 'rxjs';
import { type Clock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { FaultLog } from '../base/fault-log.ts';
import type { Logger } from '../base/logger.ts';
import { goDuration } from '../kube/duration.ts';
import type { ObservedPod } from '../provider/hooks.ts';
import type { PodProvider } from '../provider/provider.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../provider/runtime-pod.ts';
import { isUnchanged, type PodLifecycleEvent, podEvents } from './diff.ts';
import { EventChannel } from './event-channel.ts';
import type { PodCache } from './pod-cache.ts';

/** The settings of the relisting; the defaults are the kubelet's. */
export interface PlegOptions {
  readonly relistPeriodMs: number;
  /** When the last relist is older than this, ms, the runtime counts as unhealthy (R235). */
  readonly relistThresholdMs: number;
  readonly eventChannelCapacity: number;
  /** The number of pods that may wait for an on-demand relist (R234). */
  readonly onDemandCapacity: number;
  /** The number of pods that are inspected in parallel. */
  readonly parallel: number;
}

/** Kubelet's `genericPlegRelistPeriod`, `genericPlegRelistThreshold`, `plegChannelCapacity`; one pod after the other. */
export const plegDefaults: PlegOptions = {
  relistPeriodMs: 1000,
  relistThresholdMs: 180_000,
  eventChannelCapacity: 1000,
  onDemandCapacity: 200,
  parallel: 1,
};

export interface GenericPlegDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly provider: Pick<PodProvider, 'listPods' | 'listSome' | 'getPodStatus' | 'getListedPodStatus'>;
  readonly cache: PodCache;
  /** Called when pods cannot be listed or inspected, with the UIDs of the pods whose status is awaited, and the error. */
  readonly lookFailed?: (uids: readonly string[], message: string) => void;
  /** Called with the duration of each full relist. */
  readonly observeRelist?: (durationMs: number) => void;
  /** Called with the duration of each on-demand relist of some pods. */
  readonly observePodRelist?: (durationMs: number) => void;
}

/** One pod as of the last events sent (`old`) and as of the current listing (`current`). */
interface PodRecord {
  old: RuntimePod | undefined;
  current: RuntimePod | undefined;
}

/**
 * GenericPleg compares successive listings of the runtime, sends an event for each change, and updates the {@link PodCache}. The cache is
 * written before the events of a pod are sent, and its events are withheld until its inspection succeeds (R230).
 *
 * Follows kubelet `GenericPLEG`.
 */
export class GenericPleg {
  /** The events, for one reader. */
  readonly channel: EventChannel<PodLifecycleEvent>;
  readonly #deps: GenericPlegDeps;
  readonly #options: PlegOptions;
  readonly #records = new Map<string, PodRecord>();
  /** The pods to inspect even without a change (R233), and those whose last inspection failed. */
  readonly #toReinspect = new Set<string>();
  readonly #requests = new Map<string, number>();
  /** When each pod was last pushed, steady time, ms. Listings that began earlier are outdated for it. */
  readonly #pushedAt = new Map<string, number>();
  #wake: (() => void) | undefined;
  #relistedAt: number | undefined;
  readonly #faults = new FaultLog();
  /** Serializes relists: a full one and one of some pods never overlap. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: GenericPlegDeps, options: Partial<PlegOptions> = {}) {
    this.#deps = deps;
    this.#options = { ...plegDefaults, ...options };
    this.channel = new EventChannel(this.#options.eventChannelCapacity);
  }

  /** The events as a stream for one subscriber. */
  get events(): Observable<PodLifecycleEvent> {
    return this.channel.stream();
  }

  /** The UIDs that have a record. */
  get tracked(): readonly string[] {
    return [...this.#records.keys()];
  }

  /** The pods of the last successful listing, also while the runtime does not respond. */
  get listed(): readonly RuntimePod[] {
    return [...this.#records.values()].map(({ current }) => current).filter((pod) => pod !== undefined);
  }

  /** Relists every period and on demand until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.relist(signal);
      const periodEndsAt = steadyNow(this.#deps.clock) + this.#options.relistPeriodMs;
      while (await this.#requestBefore(periodEndsAt, signal)) await this.#serveRequests(signal);
    }
  }

  /** Relists all pods once. A failing listing is logged and changes nothing. */
  relist(signal?: AbortSignal): Promise<void> {
    return this.#exclusively(async () => {
      const startedAt = steadyNow(this.#deps.clock);
      const pods = await this.#list(signal);
      if (!pods) return;
      this.#relistedAt = startedAt;
      this.#records.forEach((record) => {
        record.current = undefined;
      });
      pods.forEach((pod) => this.#setCurrent(pod.uid, pod));
      this.#keepPushed(startedAt);
      const due: (readonly [uid: string, record: PodRecord])[] = [];
      this.#records.forEach((record, uid) => {
        if (this.#isDue(uid, record)) due.push([uid, record]);
      });
      await this.#each(due, ([uid, record]) => this.#observe(uid, record, startedAt, signal));
      this.#deps.cache.updateTime(startedAt); // R232: only after all pods
      this.#deps.observeRelist?.(steadyNow(this.#deps.clock) - startedAt);
    });
  }

  /** Relists one pod. Does not count for {@link health}. */
  relistPod(uid: string, signal?: AbortSignal): Promise<void> {
    return this.#relistSome([uid], signal);
  }

  /** Relists some pods with one listing. */
  #relistSome(uids: readonly string[], signal?: AbortSignal): Promise<void> {
    return this.#exclusively(async () => {
      const startedAt = steadyNow(this.#deps.clock);
      const find = await this.#finder(uids, signal);
      if (!find) return;
      await this.#each(uids, async (uid) => {
        if ((this.#pushedAt.get(uid) ?? -Infinity) >= startedAt) return; // a status pushed meanwhile is newer
        const record = this.#setCurrent(uid, find(uid) ?? { ...nowhere, uid });
        await this.#observe(uid, record, startedAt, signal);
        if (!this.#toReinspect.has(uid)) this.#deps.cache.setObservedTime(uid, startedAt);
      });
      this.#deps.observePodRelist?.(steadyNow(this.#deps.clock) - startedAt);
    });
  }

  /**
   * Stores a pod that its provider pushed and sends its events at once, without a listing or an inspection. It is newer than every listing
   * that has already begun.
   */
  push({ pod, status }: ObservedPod): void {
    const { uid } = pod;
    const at = steadyNow(this.#deps.clock);
    const record = this.#setCurrent(uid, pod);
    const events = podEvents(uid, record.old, record.current);
    this.#deps.cache.set(uid, this.#withLastIps(status, uid), undefined, at);
    this.#toReinspect.delete(uid);
    this.#pushedAt.set(uid, at);
    record.old = record.current;
    this.#tell(isSyncReason(events, pod) ? events : [...events, { uid, type: 'PodSync' }]);
  }

  /** Keeps the pods that were pushed after the listing began. */
  #keepPushed(startedAt: number): void {
    this.#pushedAt.forEach((at, uid) => {
      if (at < startedAt) this.#pushedAt.delete(uid);
      else {
        const record = this.#records.get(uid);
        if (record) record.current = record.old;
      }
    });
  }

  /** Runs `work` for all items, `parallel` of them at a time, so that one slow inspection does not delay the others. */
  async #each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    if (items.length === 1) return work(items[0] as T);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < items.length) {
        const item = items[next++];
        if (item !== undefined) await work(item);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.parallel, items.length) }, worker));
  }

  /** Returns a lookup of the pods with these UIDs in the provider. A failing listing is logged. */
  async #finder(
    uids: readonly string[],
    signal?: AbortSignal,
  ): Promise<((uid: string) => RuntimePod | undefined) | undefined> {
    const pods = await this.#list(signal, uids);
    if (!pods) return undefined;
    if (uids.length === 1) return (uid) => pods.find((pod) => pod.uid === uid);
    const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
    return (uid) => byUid.get(uid);
  }

  /** Requests an on-demand relist of one pod. Returns false when too many requests are pending (R234). */
  requestRelist(uid: string): boolean {
    if (!this.#requests.has(uid) && this.#requests.size >= this.#options.onDemandCapacity) return false;
    this.#requests.set(uid, steadyNow(this.#deps.clock));
    this.#wake?.();
    return true;
  }

  /** Makes the next relist inspect the pod even without a change, and send `PodSync` for it (R233). */
  requestReinspect(uid: string): void {
    this.#toReinspect.add(uid);
  }

  /**
   * Removes the records of pods that the runtime no longer shows and that `keep` rejects. Relisting a pod that is gone leaves an empty
   * record.
   */
  removeOrphans(keep: (uid: string) => boolean): void {
    this.#records.forEach(({ old, current }, uid) => {
      if (current || keep(uid) || this.#toReinspect.has(uid)) return;
      if (old && (old.containers.length > 0 || old.sandboxes.length > 0)) return;
      this.#records.delete(uid);
      this.#deps.cache.delete(uid);
    });
  }

  /** The health problem in the kubelet's words; `undefined` while relisting works (R235). */
  health(): string | undefined {
    if (this.#relistedAt === undefined) return 'pleg has yet to be successful';
    const elapsedMs = steadyNow(this.#deps.clock) - this.#relistedAt;
    const { relistThresholdMs } = this.#options;
    if (elapsedMs <= relistThresholdMs) return undefined;
    return `pleg was last seen active ${goDuration(elapsedMs)} ago; threshold is ${goDuration(relistThresholdMs)}`;
  }

  #exclusively(pass: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(pass);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Lists the pods of the provider. @param uids absent: all pods */
  async #list(signal?: AbortSignal, uids?: readonly string[]): Promise<readonly RuntimePod[] | undefined> {
    const { provider, logger, cache, lookFailed } = this.#deps;
    try {
      const pods =
        uids && provider.listSome ? await provider.listSome(uids, signal) : await provider.listPods(signal);
      this.#faults.clear(listing);
      return pods;
    } catch (reason) {
      if (signal?.aborted) return undefined;
      const fields = this.#faults.fieldsOf(listing, reason);
      logger.error('relist: pods cannot be listed', { step: 'listPods', ...fields });
      const affected = new Set([...(uids ?? []), ...cache.awaited()]);
      lookFailed?.([...affected], `error listing pods: ${messageOf(reason)}`);
      return undefined;
    }
  }

  #setCurrent(uid: string, pod: RuntimePod): PodRecord {
    let record = this.#records.get(uid);
    // of two equal objects the older one is kept: a new one each second would become garbage just after it was promoted
    if (record) record.current = record.old && isUnchanged(record.old, pod) ? record.old : pod;
    else this.#records.set(uid, (record = { old: undefined, current: pod }));
    return record;
  }

  /** True when the pod changed or must be inspected anyway; most pods of a listing did not change. */
  #isDue(uid: string, { old, current }: PodRecord): boolean {
    return this.#toReinspect.has(uid) || !isUnchanged(old, current);
  }

  /** Inspects a pod, then sends its events; withholds them when the inspection fails (R230). */
  async #observe(uid: string, record: PodRecord, listedAt: number, signal?: AbortSignal): Promise<void> {
    const { current } = record;
    const events = podEvents(uid, record.old, current);
    if (events.length === 0 && !this.#toReinspect.has(uid)) return;
    try {
      await this.#inspect(uid, current, listedAt, signal);
    } catch (reason) {
      this.#toReinspect.add(uid);
      const { name, namespace } = current ?? nowhere;
      const pod = `${namespace}/${name}`;
      const fault = this.#faults.fieldsOf(uid, reason);
      this.#deps.logger.error('relist: pod cannot be inspected', {
        pod,
        uid,
        step: 'getPodStatus',
        ...fault,
      });
      this.#deps.lookFailed?.([uid], `error determining status: ${messageOf(reason)}`);
      return;
    }
    if (this.#toReinspect.delete(uid)) this.#faults.clear(uid);
    if (current) record.old = current;
    else this.#records.delete(uid);
    this.#tell(events.length > 0 ? events : [{ uid, type: 'PodSync' }]);
  }

  async #inspect(
    uid: string,
    pod: RuntimePod | undefined,
    listedAt: number,
    signal?: AbortSignal,
  ): Promise<void> {
    const { cache, clock, provider } = this.#deps;
    if (!pod) {
      cache.delete(uid);
      return;
    }
    // a status derived from the listing does not show what was created after the listing
    const observedAt = provider.getListedPodStatus ? listedAt : steadyNow(clock);
    try {
      const { name, namespace } = pod;
      const status = provider.getListedPodStatus
        ? await provider.getListedPodStatus(pod, signal)
        : await provider.getPodStatus({ uid, name, namespace }, signal);
      cache.set(uid, this.#withLastIps(status, uid), undefined, observedAt);
    } catch (reason) {
      if (!signal?.aborted) cache.set(uid, emptyPodStatus(pod), AgentError.from(reason), observedAt);
      throw reason;
    }
  }

  /** Keeps the last addresses of a pod that lost its sandbox (R228). */
  #withLastIps(status: RuntimePodStatus, uid: string): RuntimePodStatus {
    if (status.ips.length > 0 || status.sandboxStatuses.some(({ state }) => state === 'SANDBOX_READY'))
      return status;
    const ips = this.#deps.cache.peek(uid)?.ips ?? [];
    return ips.length > 0 ? { ...status, ips } : status;
  }

  #tell(events: readonly PodLifecycleEvent[]): void {
    for (const event of events) {
      if (event.type === 'ContainerChanged') continue; // R229: cached, not sent
      if (!this.channel.offer(event))
        this.#deps.logger.error('relist: event dropped, the channel is full', {
          uid: event.uid,
          type: event.type,
        });
    }
  }

  async #serveRequests(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const due = [...this.#requests].filter(
      ([, requestedAt]) => this.#relistedAt === undefined || requestedAt >= this.#relistedAt,
    );
    this.#requests.clear();
    const uids = due.map(([uid]) => uid);
    if (uids.length > 0) await this.#relistSome(uids, signal);
  }

  /** Waits for an on-demand request. Returns false when the period ended or `signal` aborted first. */
  async #requestBefore(periodEndsAt: number, signal: AbortSignal): Promise<boolean> {
    const leftMs = periodEndsAt - steadyNow(this.#deps.clock);
    if (signal.aborted || leftMs <= 0) return false;
    if (this.#requests.size > 0) return true;
    return new Promise((resolve) => {
      const end = (requested: boolean): void => {
        stop();
        signal.removeEventListener('abort', abort);
        this.#wake = undefined;
        resolve(requested);
      };
      const abort = (): void => {
        end(false);
      };
      const stop = this.#deps.clock.timer(leftMs, () => {
        end(false);
      });
      signal.addEventListener('abort', abort, { once: true });
      this.#wake = () => {
        end(true);
      };
    });
  }
}

/** The fault log's key for a failed listing; no UID is empty. */
const listing = '';

const nowhere = { name: '', namespace: '', containers: [], sandboxes: [] };

/** False when only old containers of a pushed pod are gone, which is no reason for a sync, though what it reports may have changed. */
const isSyncReason = (events: readonly PodLifecycleEvent[], { containers, sandboxes }: RuntimePod): boolean =>
  events.some(({ type }) => type !== 'ContainerRemoved') ||
  (events.length > 0 && containers.length + sandboxes.length === 0);
