import { isNotFound, isUnrelated } from '../api/client.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Members } from '../base/members.ts';
import { isMirrorPod, isStaticPod, keyOf, nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { ContainerStatus, Pod, PodStatus } from '../kube/types.ts';
import { replaceOrAppend } from './condition-list.ts';
import { containersReadyCondition, readyCondition } from './conditions.ts';
import { type ContainerEnd, newEnds } from './container-ends.ts';
import { initAndRegular } from './container-statuses.ts';
import { isPodStatusByKubeletEqual, saysTheSame } from './equal.ts';
import { mergePodStatus } from './merge.ts';
import { normalizeStatus } from './normalize.ts';
import { statusPatch } from './patch.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import { ResizeStatuses } from './resize-statuses.ts';
import type { StatusClient } from './status-client.ts';
import { rfc3339 } from '../kube/time.ts';
import { illegalTransition, terminatedStatus, withTimes } from './transitions.ts';

/** The desired pods, as far as statuses need them (R27…R31). */
export interface PodLookup {
  getPodByUID(uid: string): Pod | undefined;
  getMirrorPodByPod(pod: Pod): Pod | undefined;
  /** A mirror's UID becomes its static pod's, any other stays. */
  translatePodUID(uid: string): string;
  /** Static pods with their mirrors' UIDs (`''`: none yet), and back. */
  getUIDTranslations(): {
    readonly podToMirror: ReadonlyMap<string, string>;
    readonly mirrorToPod: ReadonlyMap<string, string>;
  };
}

/** Whether the end of a pod may be told (R201). */
export interface DeletionSafety {
  podCouldHaveRunningContainers(pod: Pod): boolean;
  /** Whether nothing of an ended pod is left elsewhere, so that its API object may go; {@link StatusManager.retry} tells when. Default: yes. */
  podResourcesAreReclaimed?(pod: Pod): boolean;
}

/** Is told what becomes of statuses; all calls return at once. */
export interface StatusListener {
  /** A status was stored of a pod that is not finished. */
  podUpdated?(pod: Pod, status: PodStatus, added: boolean): void;
  /** A status was stored of a pod that will never run again. */
  podFinished?(pod: Pod, status: PodStatus): void;
  /** The API server has taken a status; this is its answer. */
  statusSent?(pod: Pod): void;
  /** The API server has what was news of a pod for so long. */
  newsTold?(ms: number): void;
  /** A container has ended, as far as statuses tell. */
  containerEnded?(end: ContainerEnd): void;
  /** A pod was deleted in the API, or found to be another one. */
  podDeleted?(uid: string): void;
}

/** Where telling statuses may differ from the kubelet's, for pods that start at once. */
export interface StatusTelling {
  /**
   * Awaited before news is told, for there may be more of it; must not reject. Default: nothing, as the kubelet. Where pods start at
   * once, the status before would cost as many requests again and be over when it arrives.
   */
  readonly settle?: (signal: AbortSignal) => Promise<unknown>;
  /**
   * Patches are made against the pod as it is watched, without the GET before each (`StatusClientOptions.fromWatch`). Needs the
   * informer's `knownPods`; without them, and by default, each pod is read first, as the kubelet does.
   */
  readonly fromWatch?: boolean;
}

/** What the status manager needs. */
export interface StatusManagerDeps extends Pick<StatusTelling, 'settle'> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: PodLookup;
  readonly deletionSafety: DeletionSafety;
  readonly client: StatusClient;
  readonly listener?: StatusListener;
  /** How many pods are told of at once; default 1, as the kubelet. One pod's requests never overlap. */
  readonly parallel?: number;
}

/** One pod's status as it is kept until it is told. */
export interface CachedStatus {
  readonly status: PodStatus;
  /** Grows with each change (R187). */
  readonly version: number;
  readonly podName: string;
  readonly podNamespace: string;
  /** When the first change of this entry was noted, ms since the epoch. */
  readonly at: number;
  /** Nothing of the pod will ever run again (R199). */
  readonly podIsFinished: boolean;
}

/** As it is inside: the same status may come to be another object. */
interface Entry extends CachedStatus {
  status: PodStatus;
}

interface UpdateOptions {
  /** A new version even if nothing differs (R187). */
  readonly force: boolean;
  readonly finished: boolean;
}

/** After a refusal that should pass: 10, 20 … 640 ms. */
const firstQuickRetryMs = 10;
const mostQuickRetries = 7;

/** How often everything is compared with the API, ms. */
export const statusSyncPeriodMs = 10_000;

/**
 * The only writer of pod statuses: keeps the newest status of each pod, and brings the API server to it, one pod after the other
 * (R186…R204).
 *
 * Follows kubelet `status.Manager`.
 */
export class StatusManager {
  readonly #deps: StatusManagerDeps;
  /** By the UID of the source's pod. */
  readonly #cache = new Map<string, Entry>();
  /** Versions that the API has, by the UID of the API's pod: for a static pod its mirror's. */
  readonly #sent = new Map<string, number>();
  /** Source UIDs whose newest version may not have been told. */
  readonly #untold = new Set<string>();
  /** Source UIDs that were told by way of a mirror, as of the last batch. */
  #mirrored: ReadonlySet<string> = new Set();
  /** Since when there is something that the API server was not told, by source UID; a steady time, ms. */
  readonly #newsSince = new Map<string, number>();
  /** How often in a row the server did not take a pod for this node's, by source UID. */
  readonly #refusals = new Map<string, number>();
  /** When those pods are asked for again; a steady time, ms. */
  #askAgainAt = Infinity;
  #signalled = false;
  #notify: (() => void) | undefined;
  /** Conditions of in-place resizes, which come before there is a status. */
  readonly resizes: ResizeStatuses;

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
    this.resizes = new ResizeStatuses(deps.clock);
  }

  /** The newest status of a pod; a mirror's UID gives its static pod's. */
  getPodStatus(uid: string): PodStatus | undefined {
    return this.#cache.get(this.#deps.pods.translatePodUID(uid))?.status;
  }

  /** What is kept of a pod, by the UID of its source. */
  entry(uid: string): CachedStatus | undefined {
    return this.#cache.get(uid);
  }

  /** The versions that the API server has, by API UID. */
  get sentVersions(): ReadonlyMap<string, number> {
    return this.#sent;
  }

  /** Is an incremental batch asked for? */
  get signalled(): boolean {
    return this.#signalled;
  }

  /** Notes a pod's status, to be told soon. Tells whether anything was new. Follows kubelet `SetPodStatus`. */
  setPodStatus(pod: Pod, status: PodStatus): boolean {
    const force = pod.metadata?.deletionTimestamp !== undefined;
    return this.#update(pod, seenAt(pod, status), { force, finished: false });
  }

  /** R203. Follows kubelet `SetContainerReadiness`. */
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void {
    this.#changeContainer(uid, containerId, (container, pod, status) => {
      if (container.ready === ready) return undefined;
      const next = withContainer(status, container, { ...container, ready });
      const statuses = initAndRegular(next);
      const conditions = next.conditions ?? [];
      const podReady = readyCondition(pod, conditions, statuses, next.phase);
      const containersReady = containersReadyCondition(pod, statuses, next.phase);
      return {
        ...next,
        conditions: replaceOrAppend(replaceOrAppend(conditions, podReady), containersReady),
      };
    });
  }

  /** R203. Follows kubelet `SetContainerStartup`. */
  setContainerStartup(uid: string, containerId: string, started: boolean): void {
    this.#changeContainer(uid, containerId, (container, _pod, status) =>
      container.started === started ? undefined : withContainer(status, container, { ...container, started }),
    );
  }

  #changeContainer(
    uid: string,
    containerId: string,
    change: (container: ContainerStatus, pod: Pod, status: PodStatus) => PodStatus | undefined,
  ): void {
    const pod = this.#deps.pods.getPodByUID(uid);
    const status = this.#cache.get(uid)?.status;
    const container = status && initAndRegular(status).find(({ containerID }) => containerID === containerId);
    const next = pod && container && change(container, pod, status);
    if (next) this.#update(pod, next, { force: false, finished: false });
  }

  /** R204: nothing of the pod will run again. Follows kubelet `TerminatePod`. */
  terminatePod(pod: Pod): void {
    const status = this.#cache.get(uidOf(pod))?.status ?? pod.status ?? {};
    this.#update(pod, terminatedStatus(pod, status), { force: true, finished: true });
  }

  /** R72: forgets pods that nobody wants. */
  removeOrphanedStatuses(keep: Members): void {
    this.#cache.forEach((_, uid) => {
      if (!keep.has(uid)) this.#forget(uid);
    });
  }

  #forget(uid: string): void {
    this.#cache.delete(uid);
    this.#untold.delete(uid);
    this.#newsSince.delete(uid);
    this.#refusals.delete(uid);
    this.resizes.forget(uid);
  }

  /** Follows kubelet `updateStatusInternal`. */
  #update(pod: Pod, status: PodStatus, how: UpdateOptions): boolean {
    const uid = uidOf(pod);
    const cached = this.#cache.get(uid);
    const old = cached?.status ?? this.#deps.pods.getMirrorPodByPod(pod)?.status ?? pod.status ?? {};
    const fault = pod.spec && illegalTransition(old, status, pod.spec);
    if (fault !== undefined) {
      this.#deps.logger.error('status update was dropped', { pod: keyOf(pod), uid, err: fault });
      return false;
    }
    const timed = withTimes(notBefore(status, old), old, rfc3339(this.#deps.clock.now()));
    const next = normalizeStatus(pod, timed);
    if (cached && !how.force && isPodStatusByKubeletEqual(cached.status, next)) return false;
    this.#tellEnds(old, next);
    this.#store(pod, next, how);
    return true;
  }

  #tellEnds(old: PodStatus, next: PodStatus): void {
    const { listener } = this.#deps;
    if (listener?.containerEnded) for (const end of newEnds(old, next)) listener.containerEnded(end);
  }

  #store(pod: Pod, status: PodStatus, { force, finished }: UpdateOptions): void {
    const { clock, listener = {} } = this.#deps;
    const uid = uidOf(pod);
    const cached = this.#cache.get(uid);
    const podIsFinished = finished || (!isStaticPod(pod) && cached?.podIsFinished === true);
    const { version, at } = cached ?? { version: 0, at: clock.now() };
    const [podName, podNamespace] = [nameOf(pod), namespaceOf(pod)];
    const entry = { status, version: version + 1, podName, podNamespace, at, podIsFinished };
    this.#cache.set(uid, entry);
    if (!this.#newsSince.has(uid)) this.#newsSince.set(uid, steadyNow(clock));
    this.#untold.add(uid);
    if (podIsFinished) listener.podFinished?.(pod, status);
    else listener.podUpdated?.(pod, status, !cached && !force);
    this.#signalled = true;
    this.#notify?.();
  }

  /** Clears the signal and tells what is new, if the signal was set. @returns how many pods were tried */
  async wake(): Promise<number> {
    if (!this.#signalled) return 0;
    this.#signalled = false;
    return this.syncBatch(false);
  }

  /**
   * Tells the API server what it does not know yet; with `all`, also what it has forgotten or changed, and deletes what may go (R189).
   *
   * @returns how many pods were tried
   */
  async syncBatch(all: boolean): Promise<number> {
    const { podToMirror, mirrorToPod } = this.#deps.pods.getUIDTranslations();
    if (all)
      for (const uid of [...this.#sent.keys()])
        if (!this.#cache.has(uid) && !mirrorToPod.has(uid)) this.#sent.delete(uid);
    const due: (readonly [uid: string, entry: Entry])[] = [];
    // a static pod's mirror may be another one by now, or none at all: to that nothing was told yet
    const mirrored = new Set(podToMirror.keys());
    const candidates = all ? this.#cache.keys() : new Set([...this.#untold, ...this.#mirrored, ...mirrored]);
    this.#mirrored = mirrored;
    for (const uid of candidates) {
      const entry = this.#cache.get(uid);
      const apiUid = podToMirror.get(uid) ?? uid;
      // R194: a static pod without a mirror has no place to be told
      if (apiUid === '' || !entry) continue;
      if (this.#isDue(uid, apiUid, entry, all)) {
        due.push([uid, entry]);
        this.#untold.add(uid);
      } else this.#untold.delete(uid);
    }
    await this.#syncEach(due);
    return due.length;
  }

  async #syncEach(due: readonly (readonly [uid: string, entry: Entry])[]): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let one = due[next++]; one; one = due[next++]) await this.#sync(...one);
    };
    await Promise.all(Array.from({ length: Math.min(this.#deps.parallel ?? 1, due.length) }, worker));
  }

  #isDue(uid: string, apiUid: string, entry: Entry, all: boolean): boolean {
    const sent = this.#sent.get(apiUid);
    if (!all) return (sent ?? 0) < entry.version;
    if (sent === undefined || sent < entry.version) return true;
    const apiPod = this.#deps.pods.getPodByUID(apiUid);
    if (apiPod && this.#mayGo(apiPod, entry)) return true;
    if (!this.#hasDrifted(uid, entry)) return false;
    this.#sent.delete(apiUid);
    return true;
  }

  /** R190: does the API show another status than the one told? */
  #hasDrifted(uid: string, entry: Entry): boolean {
    const { pods } = this.#deps;
    const { status } = entry;
    const pod = pods.getPodByUID(uid);
    const shown = pod && isStaticPod(pod) ? pods.getMirrorPodByPod(pod) : pod;
    if (!shown || shown.status === status) return false;
    if (!isPodStatusByKubeletEqual(normalizeStatus(shown, shown.status ?? {}), status)) return true;
    keepOneCopy(entry, shown);
    return false;
  }

  /** R191, R192. Never throws: what failed is tried again at the next signal or tick. */
  async #sync(uid: string, entry: Entry): Promise<void> {
    const { client, pods, logger } = this.#deps;
    const { podNamespace, podName } = entry;
    try {
      const pod = await client.getPod(podNamespace, podName);
      this.#refusals.delete(uid);
      const apiUid = uidOf(pod);
      const translated = pods.translatePodUID(apiUid);
      if (translated !== '' && translated !== uid) {
        this.#drop(uid);
        return;
      }
      const told = await this.#tell(pod, entry.status);
      keepOneCopy(entry, told);
      this.#sent.set(apiUid, entry.version);
      this.#measure(uid, entry);
      if (!this.#mayGo(told, entry)) return;
      await client.deletePod(podNamespace, podName, apiUid);
      this.#drop(uid);
    } catch (reason) {
      if (isNotFound(reason)) return;
      const fields = { pod: `${podNamespace}/${podName}`, uid, err: messageOf(reason) };
      if (!isUnrelated(reason)) logger.warn('status could not be told', fields);
      // the server says the same of a pod that is gone
      else if (!pods.getPodByUID(uid)) logger.debug('status of a pod that is gone', fields);
      else if (this.#askAgain(uid)) logger.debug('status could not be told yet', fields);
      else logger.warn('status could not be told', fields);
    }
  }

  /**
   * The kubelet would wait for the next signal or tick: up to 10 s for a pod that this agent was quicker to start than the server to
   * know it for the node's.
   *
   * @returns whether it is asked again before the next tick
   */
  #askAgain(uid: string): boolean {
    const { clock } = this.#deps;
    const refusals = this.#refusals.get(uid) ?? 0;
    if (refusals >= mostQuickRetries) return false;
    this.#refusals.set(uid, refusals + 1);
    this.#askAgainAt = Math.min(this.#askAgainAt, steadyNow(clock) + firstQuickRetryMs * 2 ** refusals);
    return true;
  }

  /** What comes from now on is news of its own. */
  #measure(uid: string, told: Entry): void {
    const since = this.#newsSince.get(uid);
    if (since === undefined) return;
    const now = steadyNow(this.#deps.clock);
    this.#deps.listener?.newsTold?.(now - since);
    if (this.#cache.get(uid) === told) this.#newsSince.delete(uid);
    else this.#newsSince.set(uid, now);
  }

  #mayGo(pod: Pod, entry: Entry): boolean {
    const { deletionSafety } = this.#deps;
    return canBeDeleted(pod, entry) && (deletionSafety.podResourcesAreReclaimed?.(pod) ?? true);
  }

  /** Looks at a pod again soon although nothing of it is new: what kept its API object may be gone. */
  retry(uid: string): void {
    if (!this.#cache.has(uid)) return;
    this.#sent.delete(this.#deps.pods.getUIDTranslations().podToMirror.get(uid) ?? uid);
    this.#untold.add(uid);
    this.#signalled = true;
    this.#notify?.();
  }

  #drop(uid: string): void {
    this.#forget(uid);
    this.#deps.listener?.podDeleted?.(uid);
  }

  /** @returns the pod as the API server now has it */
  async #tell(pod: Pod, status: PodStatus): Promise<Pod> {
    const { client, clock, deletionSafety, listener } = this.#deps;
    const old = pod.status ?? {};
    const merged = mergePodStatus(pod, old, status, {
      couldHaveRunningContainers: deletionSafety.podCouldHaveRunningContainers(pod),
      now: rfc3339(clock.now()),
    });
    const { body, unchanged } = statusPatch(uidOf(pod), old, merged);
    if (unchanged) return pod;
    const answer = await client.patchStatus(namespaceOf(pod), nameOf(pod), body);
    listener?.statusSent?.(answer);
    return answer;
  }

  /** {@link run} by the name that the kubelet has for it. */
  start(signal: AbortSignal): Promise<void> {
    return this.run(signal);
  }

  /** Tells statuses as they come, and compares everything each {@link statusSyncPeriodMs}, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, settle } = this.#deps;
    let nextTick = steadyNow(clock) + statusSyncPeriodMs;
    while (!signal.aborted) {
      if (steadyNow(clock) >= nextTick) {
        nextTick = steadyNow(clock) + statusSyncPeriodMs;
        await this.syncBatch(true);
      } else if (steadyNow(clock) >= this.#askAgainAt) {
        this.#askAgainAt = Infinity;
        await this.syncBatch(false);
      } else if (this.#signalled) {
        await settle?.(signal);
        await this.wake();
      } else await this.#idle(Math.min(nextTick, this.#askAgainAt) - steadyNow(clock), signal);
    }
  }

  /** Until something is new, the time is over, or the signal aborts. */
  #idle(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        signal.removeEventListener('abort', done);
        this.#notify = undefined;
        resolve();
      };
      const stop = this.#deps.clock.timer(ms, done);
      signal.addEventListener('abort', done, { once: true });
      this.#notify = done;
    });
  }
}

/** Where the API says exactly the same, one copy is enough, and from now on a look at it is. */
function keepOneCopy(entry: Entry, { status }: Pod): void {
  if (status && saysTheSame(status, entry.status)) entry.status = status;
}

/** R193: the phase that counts is the API's, so that the end was told before the pod goes. */
const canBeDeleted = (pod: Pod, { podIsFinished }: CachedStatus): boolean =>
  podIsFinished &&
  pod.metadata?.deletionTimestamp !== undefined &&
  !isMirrorPod(pod) &&
  isTerminalPhase(pod.status?.phase);

/** R197: the generation that the status was made from is the pod's, whatever the status says. */
function seenAt({ metadata }: Pod, status: PodStatus): PodStatus {
  const { observedGeneration, ...rest } = status;
  if (metadata?.generation) return { ...rest, observedGeneration: metadata.generation };
  return observedGeneration === undefined ? status : rest;
}

/** R197: the observed generation never goes back. */
function notBefore(status: PodStatus, { observedGeneration = 0 }: PodStatus): PodStatus {
  return observedGeneration > (status.observedGeneration ?? 0) ? { ...status, observedGeneration } : status;
}

/** The status with one container status in the place of another. */
function withContainer(status: PodStatus, old: ContainerStatus, next: ContainerStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = status;
  const replaced = (one: ContainerStatus): ContainerStatus => (one === old ? next : one);
  return {
    ...status,
    ...(containerStatuses && { containerStatuses: containerStatuses.map(replaced) }),
    ...(initContainerStatuses && { initContainerStatuses: initContainerStatuses.map(replaced) }),
  };
}
