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

/** The part of the pod manager that the status manager needs (R27…R31). */
export interface PodLookup {
  getPodByUID(uid: string): Pod | undefined;
  getMirrorPodByPod(pod: Pod): Pod | undefined;
  /** Translates the UID of a mirror pod to that of its static pod; returns any other UID unchanged. */
  translatePodUID(uid: string): string;
  /** The UIDs of static pods mapped to those of their mirror pods (`''` while there is none), and the reverse. */
  getUIDTranslations(): {
    readonly podToMirror: ReadonlyMap<string, string>;
    readonly mirrorToPod: ReadonlyMap<string, string>;
  };
}

/** Decides whether the end of a pod may be reported (R201). */
export interface DeletionSafety {
  podCouldHaveRunningContainers(pod: Pod): boolean;
  /**
   * Whether all resources of an ended pod are released, so that its API object may be deleted; call {@link StatusManager.retry} when this
   * turns true. Default: true.
   */
  podResourcesAreReclaimed?(pod: Pod): boolean;
}

/** Receives notifications about statuses; all calls must return at once. */
export interface StatusListener {
  /** The status of a pod that is not finished was stored. */
  podUpdated?(pod: Pod, status: PodStatus, added: boolean): void;
  /** The status of a pod that will never run again was stored. */
  podFinished?(pod: Pod, status: PodStatus): void;
  /** The API server accepted a status; `pod` is its response. */
  statusSent?(pod: Pod): void;
  /** The API server accepted a status `ms` milliseconds after its first change that had not been sent. */
  changeSent?(ms: number): void;
  /** A stored status shows the end of a container. */
  containerEnded?(end: ContainerEnd): void;
  /** The pod was deleted in the API, or another pod has taken its name. */
  podDeleted?(uid: string): void;
}

/** Optional differences from the way in which the kubelet sends statuses, for pods that start within milliseconds. */
export interface StatusTelling {
  /**
   * Awaited before new statuses are sent, so that further changes join them; must not reject. Default: no wait, as in the kubelet. Where
   * pods start within milliseconds, the intermediate status would double the requests and be outdated on arrival.
   */
  readonly settle?: (signal: AbortSignal) => Promise<unknown>;
  /**
   * Computes patches against the watched pod, without a GET before each (`StatusClientOptions.fromWatch`). Needs the informer's
   * `knownPods`; without them, and by default, each pod is read first, as the kubelet does.
   */
  readonly fromWatch?: boolean;
}

/** The dependencies of {@link StatusManager}. */
export interface StatusManagerDeps extends Pick<StatusTelling, 'settle'> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: PodLookup;
  readonly deletionSafety: DeletionSafety;
  readonly client: StatusClient;
  readonly listener?: StatusListener;
  /** The number of pods whose statuses are sent in parallel. Default 1, as in the kubelet. Requests for one pod never overlap. */
  readonly parallel?: number;
}

/** The stored status of one pod. */
export interface CachedStatus {
  readonly status: PodStatus;
  /** Increases with each change (R187). */
  readonly version: number;
  readonly podName: string;
  readonly podNamespace: string;
  /** When the first change that has not been sent was stored, ms since the epoch. */
  readonly at: number;
  /** True when no container of the pod will ever run again (R199). */
  readonly podIsFinished: boolean;
}

/** The mutable form inside the manager: the status may be replaced by an equal object. */
interface Entry extends CachedStatus {
  status: PodStatus;
}

interface UpdateOptions {
  /** Forces a new version even when nothing differs (R187). */
  readonly force: boolean;
  readonly finished: boolean;
}

/** The first delay after a refusal that should pass soon, ms; it doubles: 10, 20 … 640. */
const firstQuickRetryMs = 10;
const mostQuickRetries = 7;

/** The interval at which all statuses are compared with the API, ms. */
export const statusSyncPeriodMs = 10_000;

/**
 * StatusManager is the only writer of pod statuses: it stores the newest status of each pod and sends it to the API server, one pod after
 * the other (R186…R204).
 *
 * Follows kubelet `status.Manager`.
 *
 * @example
 * const statuses = new StatusManager({ client: statusClient(api), clock, logger, pods, deletionSafety });
 * statuses.setPodStatus(pod, { phase: 'Running' });
 */
export class StatusManager {
  readonly #deps: StatusManagerDeps;
  /** The stored statuses, by the UID of the pod in its source. */
  readonly #cache = new Map<string, Entry>();
  /** The versions that the API server has, by the UID of the pod in the API (for a static pod that of its mirror pod). */
  readonly #sent = new Map<string, number>();
  /** The source UIDs whose newest version may not have been sent. */
  readonly #unsent = new Set<string>();
  /** The source UIDs of the static pods that had a mirror pod in the last batch. */
  #mirrored: ReadonlySet<string> = new Set();
  /** The time of the first change that has not been sent, by source UID; steady time, ms. */
  readonly #newsSince = new Map<string, number>();
  /** The number of consecutive refusals because the server did not yet see the pod on this node, by source UID. */
  readonly #refusals = new Map<string, number>();
  /** When these pods are retried; steady time, ms. */
  #retryAt = Infinity;
  #signalled = false;
  #notify: (() => void) | undefined;
  /** The conditions of in-place resizes, which may be set before the pod has a status. */
  readonly resizes: ResizeStatuses;

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
    this.resizes = new ResizeStatuses(deps.clock);
  }

  /** The newest status of a pod. The UID of a mirror pod returns the status of its static pod. */
  getPodStatus(uid: string): PodStatus | undefined {
    return this.#cache.get(this.#deps.pods.translatePodUID(uid))?.status;
  }

  /** The stored status of a pod, by the UID of the pod in its source. */
  entry(uid: string): CachedStatus | undefined {
    return this.#cache.get(uid);
  }

  /** The versions that the API server has, by the UID of the pod in the API. */
  get sentVersions(): ReadonlyMap<string, number> {
    return this.#sent;
  }

  /** True when an incremental batch is due. */
  get signalled(): boolean {
    return this.#signalled;
  }

  /** Stores a pod's status and sends it soon. Returns whether the status changed. Follows kubelet `SetPodStatus`. */
  setPodStatus(pod: Pod, status: PodStatus): boolean {
    const force = pod.metadata?.deletionTimestamp !== undefined;
    return this.#update(pod, seenAt(pod, status), { force, finished: false });
  }

  /** Sets `ready` of one container, and the conditions that follow from it (R203). Follows kubelet `SetContainerReadiness`. */
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

  /** Sets `started` of one container (R203). Follows kubelet `SetContainerStartup`. */
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

  /** Marks the pod as finished: no container will run again, and those without an end get one (R204). Follows kubelet `TerminatePod`. */
  terminatePod(pod: Pod): void {
    const status = this.#cache.get(uidOf(pod))?.status ?? pod.status ?? {};
    this.#update(pod, terminatedStatus(pod, status), { force: true, finished: true });
  }

  /** Forgets the statuses of pods that are not in `keep` (R72). */
  removeOrphanedStatuses(keep: Members): void {
    this.#cache.forEach((_, uid) => {
      if (!keep.has(uid)) this.#forget(uid);
    });
  }

  #forget(uid: string): void {
    this.#cache.delete(uid);
    this.#unsent.delete(uid);
    this.#newsSince.delete(uid);
    this.#refusals.delete(uid);
    this.resizes.forget(uid);
  }

  /** Stores a status as a new version if it changed or `force` is set. Follows kubelet `updateStatusInternal`. */
  #update(pod: Pod, status: PodStatus, how: UpdateOptions): boolean {
    const uid = uidOf(pod);
    const cached = this.#cache.get(uid);
    const old = cached?.status ?? this.#deps.pods.getMirrorPodByPod(pod)?.status ?? pod.status ?? {};
    const fault = pod.spec && illegalTransition(old, status, pod.spec);
    if (fault !== undefined) {
      this.#deps.logger.error('status update dropped', { pod: keyOf(pod), uid, err: fault });
      return false;
    }
    const timed = withTimes(notBefore(status, old), old, rfc3339(this.#deps.clock.now()));
    const next = normalizeStatus(pod, timed);
    if (cached && !how.force && isPodStatusByKubeletEqual(cached.status, next)) return false;
    this.#reportEnds(old, next);
    this.#store(pod, next, how);
    return true;
  }

  #reportEnds(old: PodStatus, next: PodStatus): void {
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
    this.#unsent.add(uid);
    if (podIsFinished) listener.podFinished?.(pod, status);
    else listener.podUpdated?.(pod, status, !cached && !force);
    this.#signalled = true;
    this.#notify?.();
  }

  /** If a batch is due, clears the signal and sends the new statuses. Returns the number of pods that were tried. */
  async wake(): Promise<number> {
    if (!this.#signalled) return 0;
    this.#signalled = false;
    return this.syncBatch(false);
  }

  /**
   * Sends the statuses that the API server does not have yet. With `all`, also compares every status with the API, sends those that differ
   * there, and deletes the objects that may be deleted (R189).
   *
   * @returns the number of pods that were tried
   */
  async syncBatch(all: boolean): Promise<number> {
    const { podToMirror, mirrorToPod } = this.#deps.pods.getUIDTranslations();
    if (all)
      for (const uid of [...this.#sent.keys()])
        if (!this.#cache.has(uid) && !mirrorToPod.has(uid)) this.#sent.delete(uid);
    const due: (readonly [uid: string, entry: Entry])[] = [];
    // a static pod may have another mirror pod by now, or none: no status was sent for that one yet
    const mirrored = new Set(podToMirror.keys());
    const candidates = all ? this.#cache.keys() : new Set([...this.#unsent, ...this.#mirrored, ...mirrored]);
    this.#mirrored = mirrored;
    for (const uid of candidates) {
      const entry = this.#cache.get(uid);
      const apiUid = podToMirror.get(uid) ?? uid;
      // R194: the status of a static pod without a mirror pod has no object to go to
      if (apiUid === '' || !entry) continue;
      if (this.#isDue(uid, apiUid, entry, all)) {
        due.push([uid, entry]);
        this.#unsent.add(uid);
      } else this.#unsent.delete(uid);
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
    if (apiPod && this.#mayBeDeleted(apiPod, entry)) return true;
    if (!this.#hasDrifted(uid, entry)) return false;
    this.#sent.delete(apiUid);
    return true;
  }

  /** True when the status in the API differs from the one that was sent (R190). */
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

  /**
   * Sends one pod's status and deletes its object if it may be deleted (R191, R192). Never throws: a failure is retried at the next signal
   * or tick.
   */
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
      const sent = await this.#send(pod, entry.status);
      keepOneCopy(entry, sent);
      this.#sent.set(apiUid, entry.version);
      this.#measure(uid, entry);
      if (!this.#mayBeDeleted(sent, entry)) return;
      await client.deletePod(podNamespace, podName, apiUid);
      this.#drop(uid);
    } catch (reason) {
      if (isNotFound(reason)) return;
      const fields = { pod: `${podNamespace}/${podName}`, uid, err: messageOf(reason) };
      if (!isUnrelated(reason)) logger.warn('status could not be sent', fields);
      // the server refuses the status of a deleted pod with the same error
      else if (!pods.getPodByUID(uid)) logger.debug('status of a deleted pod refused', fields);
      else if (this.#retrySoon(uid)) logger.debug('status could not be sent yet', fields);
      else logger.warn('status could not be sent', fields);
    }
  }

  /**
   * Schedules a quick retry for a pod that this agent started before the server saw it on the node. The kubelet would wait for the next
   * signal or tick, up to 10 s.
   *
   * @returns whether the retry comes before the next tick
   */
  #retrySoon(uid: string): boolean {
    const { clock } = this.#deps;
    const refusals = this.#refusals.get(uid) ?? 0;
    if (refusals >= mostQuickRetries) return false;
    this.#refusals.set(uid, refusals + 1);
    this.#retryAt = Math.min(this.#retryAt, steadyNow(clock) + firstQuickRetryMs * 2 ** refusals);
    return true;
  }

  /** Ends the measurement of a status that was sent; a later change starts a new one. */
  #measure(uid: string, sent: Entry): void {
    const since = this.#newsSince.get(uid);
    if (since === undefined) return;
    const now = steadyNow(this.#deps.clock);
    this.#deps.listener?.changeSent?.(now - since);
    if (this.#cache.get(uid) === sent) this.#newsSince.delete(uid);
    else this.#newsSince.set(uid, now);
  }

  #mayBeDeleted(pod: Pod, entry: Entry): boolean {
    const { deletionSafety } = this.#deps;
    return canBeDeleted(pod, entry) && (deletionSafety.podResourcesAreReclaimed?.(pod) ?? true);
  }

  /** Checks a pod again soon although its status did not change: its API object may now be deletable. */
  retry(uid: string): void {
    if (!this.#cache.has(uid)) return;
    this.#sent.delete(this.#deps.pods.getUIDTranslations().podToMirror.get(uid) ?? uid);
    this.#unsent.add(uid);
    this.#signalled = true;
    this.#notify?.();
  }

  #drop(uid: string): void {
    this.#forget(uid);
    this.#deps.listener?.podDeleted?.(uid);
  }

  /** Sends a status. @returns the pod as the API server now has it */
  async #send(pod: Pod, status: PodStatus): Promise<Pod> {
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

  /** {@link run} under the kubelet's name. */
  start(signal: AbortSignal): Promise<void> {
    return this.run(signal);
  }

  /** Sends new statuses at once, and compares all of them every {@link statusSyncPeriodMs}, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, settle } = this.#deps;
    let nextTick = steadyNow(clock) + statusSyncPeriodMs;
    while (!signal.aborted) {
      if (steadyNow(clock) >= nextTick) {
        nextTick = steadyNow(clock) + statusSyncPeriodMs;
        await this.syncBatch(true);
      } else if (steadyNow(clock) >= this.#retryAt) {
        this.#retryAt = Infinity;
        await this.syncBatch(false);
      } else if (this.#signalled) {
        await settle?.(signal);
        await this.wake();
      } else await this.#idle(Math.min(nextTick, this.#retryAt) - steadyNow(clock), signal);
    }
  }

  /** Resolves when a batch is due, `ms` have passed, or the signal aborts. */
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

/** Replaces the stored status by the API's copy when they are equal: this saves memory and makes later comparisons cheap. */
function keepOneCopy(entry: Entry, { status }: Pod): void {
  if (status && saysTheSame(status, entry.status)) entry.status = status;
}

/** True when the pod's object may be deleted. The phase in the API counts, so that the end is reported before the deletion (R193). */
const canBeDeleted = (pod: Pod, { podIsFinished }: CachedStatus): boolean =>
  podIsFinished &&
  pod.metadata?.deletionTimestamp !== undefined &&
  !isMirrorPod(pod) &&
  isTerminalPhase(pod.status?.phase);

/** Sets the observed generation of the status to the pod's generation (R197). */
function seenAt({ metadata }: Pod, status: PodStatus): PodStatus {
  const { observedGeneration, ...rest } = status;
  if (metadata?.generation) return { ...rest, observedGeneration: metadata.generation };
  return observedGeneration === undefined ? status : rest;
}

/** Keeps the observed generation from going back (R197). */
function notBefore(status: PodStatus, { observedGeneration = 0 }: PodStatus): PodStatus {
  return observedGeneration > (status.observedGeneration ?? 0) ? { ...status, observedGeneration } : status;
}

/** Returns the status with one container status replaced. */
function withContainer(status: PodStatus, old: ContainerStatus, next: ContainerStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = status;
  const replaced = (one: ContainerStatus): ContainerStatus => (one === old ? next : one);
  return {
    ...status,
    ...(containerStatuses && { containerStatuses: containerStatuses.map(replaced) }),
    ...(initContainerStatuses && { initContainerStatuses: initContainerStatuses.map(replaced) }),
  };
}
