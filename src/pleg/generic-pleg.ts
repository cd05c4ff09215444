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

/** Numbers of the relisting; the defaults are kubelet's. */
export interface PlegOptions {
  readonly relistPeriodMs: number;
  /** Older than this, the last relist says that the runtime hangs (R235). */
  readonly relistThresholdMs: number;
  readonly eventChannelCapacity: number;
  /** Pods that may wait for a relist of their own (R234). */
  readonly onDemandCapacity: number;
  /** How many pods are inspected at one time. */
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
  /** Called when pods cannot be listed or inspected: with the pods that someone wants an observation of, and the error. */
  readonly lookFailed?: (uids: readonly string[], message: string) => void;
  /** How long a relist took. */
  readonly observeRelist?: (durationMs: number) => void;
  /** How long a look at some pods took, those that asked for one. */
  readonly observePodRelist?: (durationMs: number) => void;
}

/** One pod as the last told event left it, and as the listing at hand shows it. */
interface PodRecord {
  old: RuntimePod | undefined;
  current: RuntimePod | undefined;
}

/**
 * Compares listings of the runtime and tells what happened; keeps the {@link PodCache} fresh. The cache is written before the events
 * of a pod are told, and they are withheld until its inspection succeeds (R230).
 *
 * Follows kubelet `GenericPLEG`.
 */
export class GenericPleg {
  /** What happened, for one reader. */
  readonly channel: EventChannel<PodLifecycleEvent>;
  readonly #deps: GenericPlegDeps;
  readonly #options: PlegOptions;
  readonly #records = new Map<string, PodRecord>();
  /** Pods to be inspected even without a change (R233), and those whose last inspection failed. */
  readonly #toReinspect = new Set<string>();
  readonly #requests = new Map<string, number>();
  /** When a pod was last pushed, a steady time, ms: listings that began before say nothing of it. */
  readonly #pushedAt = new Map<string, number>();
  #wake: (() => void) | undefined;
  #relistedAt: number | undefined;
  readonly #faults = new FaultLog();
  /** Relists of all pods and of one exclude each other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: GenericPlegDeps, options: Partial<PlegOptions> = {}) {
    this.#deps = deps;
    this.#options = { ...plegDefaults, ...options };
    this.channel = new EventChannel(this.#options.eventChannelCapacity);
  }

  /** What happened, as a stream for one subscriber. */
  get events(): Observable<PodLifecycleEvent> {
    return this.channel.stream();
  }

  /** UIDs that have a record. */
  get tracked(): readonly string[] {
    return [...this.#records.keys()];
  }

  /** The pods as the last listings showed them; also while the runtime does not answer. */
  get listed(): readonly RuntimePod[] {
    return [...this.#records.values()].map(({ current }) => current).filter((pod) => pod !== undefined);
  }

  /** Relists every period and on request until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.relist(signal);
      const periodEndsAt = steadyNow(this.#deps.clock) + this.#options.relistPeriodMs;
      while (await this.#requestBefore(periodEndsAt, signal)) await this.#serveRequests(signal);
    }
  }

  /** One pass over all pods. A failing listing is logged and changes nothing. */
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

  /** One pass over one pod. Does not count for health. */
  relistPod(uid: string, signal?: AbortSignal): Promise<void> {
    return this.#relistSome([uid], signal);
  }

  /** One pass over some pods, with one listing for all of them. */
  #relistSome(uids: readonly string[], signal?: AbortSignal): Promise<void> {
    return this.#exclusively(async () => {
      const startedAt = steadyNow(this.#deps.clock);
      const find = await this.#finder(uids, signal);
      if (!find) return;
      await this.#each(uids, async (uid) => {
        if ((this.#pushedAt.get(uid) ?? -Infinity) >= startedAt) return; // what was pushed meanwhile is newer
        const record = this.#setCurrent(uid, find(uid) ?? { ...nowhere, uid });
        await this.#observe(uid, record, startedAt, signal);
        if (!this.#toReinspect.has(uid)) this.#deps.cache.setObservedTime(uid, startedAt);
      });
      this.#deps.observePodRelist?.(steadyNow(this.#deps.clock) - startedAt);
    });
  }

  /**
   * Takes in a pod as its provider pushed it: cached and told at once, without a listing or an inspection. It is newer than every listing that
   * has begun.
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
    this.#tell(events.length > 0 ? events : [{ uid, type: 'PodSync' }]);
  }

  /** What was pushed since the listing began stands as it is. */
  #keepPushed(startedAt: number): void {
    this.#pushedAt.forEach((at, uid) => {
      if (at < startedAt) this.#pushedAt.delete(uid);
      else {
        const record = this.#records.get(uid);
        if (record) record.current = record.old;
      }
    });
  }

  /** Does `work` for all, a few at one time: a pod whose inspection takes long does not hold up the others. */
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

  /** The pods with these UIDs as the provider has them now. A failing listing is logged. */
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

  /** Asks `run` to look at one pod soon; false when too many wait (R234). */
  requestRelist(uid: string): boolean {
    if (!this.#requests.has(uid) && this.#requests.size >= this.#options.onDemandCapacity) return false;
    this.#requests.set(uid, steadyNow(this.#deps.clock));
    this.#wake?.();
    return true;
  }

  /** The next pass inspects the pod even if nothing changed, and tells `PodSync` then (R233). */
  requestReinspect(uid: string): void {
    this.#toReinspect.add(uid);
  }

  /** Forgets pods that neither the runtime shows nor anybody wants: a look at one that was gone already leaves an empty record. */
  removeOrphans(keep: (uid: string) => boolean): void {
    this.#records.forEach(({ old, current }, uid) => {
      if (current || keep(uid) || this.#toReinspect.has(uid)) return;
      if (old && (old.containers.length > 0 || old.sandboxes.length > 0)) return;
      this.#records.delete(uid);
      this.#deps.cache.delete(uid);
    });
  }

  /** What is wrong, in kubelet's words; `undefined`: relisting is alive (R235). */
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

  /** @param uids absent: of all pods */
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
      const wanted = new Set([...(uids ?? []), ...cache.awaited()]);
      lookFailed?.([...wanted], `error listing pods: ${messageOf(reason)}`);
      return undefined;
    }
  }

  #setCurrent(uid: string, pod: RuntimePod): PodRecord {
    let record = this.#records.get(uid);
    // of two that say the same the older one is kept: a new one each second would be garbage by the time that it is old enough to stay
    if (record) record.current = record.old && isUnchanged(record.old, pod) ? record.old : pod;
    else this.#records.set(uid, (record = { old: undefined, current: pod }));
    return record;
  }

  /** Most pods of a listing are as they were. */
  #isDue(uid: string, { old, current }: PodRecord): boolean {
    return this.#toReinspect.has(uid) || !isUnchanged(old, current);
  }

  /** R230: inspects a pod that changed or that is to be inspected, then tells its events; withholds them if that fails. */
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
    // what was made after the listing is not in a status that comes of it
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

  /** R228: a pod that lost its sandbox keeps the addresses that it had. */
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
        this.#deps.logger.error('relist: an event was dropped, nobody reads', {
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

  /** Waits for a request; false when the period or the whole ended first. */
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

/** What the fault of a listing is remembered by; no UID is empty. */
const listing = '';

const nowhere = { name: '', namespace: '', containers: [], sandboxes: [] };
