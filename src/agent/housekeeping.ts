import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { isMirrorPod, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';

/** A worker that is left after the desired pods were told (R127). */
export interface KnownWorker {
  readonly state: 'sync' | 'terminating' | 'terminated';
}

export interface HousekeepingDeps {
  readonly logger: Logger;
  /** Absent: nobody counts. */
  readonly counts?: { restarted(pod: Pod): void; orphanFound(): void };
  readonly pods: {
    /** Real pods and mirrors apart, and mirrors (full names) whose static pod is gone. */
    getPodsAndMirrorPods(): {
      readonly pods: readonly Pod[];
      readonly mirrors: readonly Pod[];
      readonly orphanedMirrorFullNames: readonly string[];
    };
  };
  readonly workers: {
    syncKnownPods(desired: readonly Pod[], wanted: ReadonlySet<string>): ReadonlyMap<string, KnownWorker>;
    startPod(pod: Pod): void;
    killPod(pod: Pod): void;
    killRuntimePod(running: RuntimePod): void;
    isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
  };
  readonly probes: { cleanupPods(possiblyRunning: ReadonlySet<string>): void };
  readonly statuses: { removeOrphanedStatuses(keep: ReadonlySet<string>): void };
  readonly allocations: { removeOrphanedPods(remaining: ReadonlySet<string>): void };
  readonly observations: { removeOrphans(keep: (uid: string) => boolean): void };
  /** R70: the runtime's own listing, not the cache's. Stopped pods count only where `running` says so. */
  listRunningPods(): Promise<readonly RuntimePod[]>;
  isActive(pod: Pod): boolean;
  deleteMirrorPod(fullName: string): Promise<void>;
  /** R73: directories, volumes, allocations of pods that nobody wants or runs. */
  cleanupOrphans(desired: ReadonlySet<string>, running: ReadonlySet<string>): Promise<void>;
  /** R79: cgroups and back-off entries of what cannot run. What there is is noted before the pods are read (R67). */
  cleanupNode(): (possiblyRunning: ReadonlySet<string>) => Promise<void>;
}

/**
 * The periodic sweep that makes what runs equal what is wanted, whatever was missed. The order of its steps matters (R67…R80).
 *
 * Follows kubelet `HandlePodCleanups`.
 */
export async function handlePodCleanups(deps: HousekeepingDeps): Promise<void> {
  const cleanupNode = deps.cleanupNode(); // R67: notes what there is before the pods are read
  const { pods, mirrors, orphanedMirrorFullNames } = deps.pods.getPodsAndMirrorPods();
  const desired = new Set(pods.map(uidOf));
  const known = deps.workers.syncKnownPods(pods, desired);
  const running = await deps.listRunningPods(); // R70: without it the pass ends here
  const inRuntime = new Set(running.map(({ uid }) => uid));
  const possiblyRunning = new Set<string>();
  known.forEach(({ state }, uid) => {
    if (state !== 'terminated') possiblyRunning.add(uid);
  });

  deps.probes.cleanupPods(possiblyRunning);
  deps.statuses.removeOrphanedStatuses(
    mirrors.length === 0 ? desired : new Set([...desired, ...mirrors.map(uidOf)]),
  );
  deps.allocations.removeOrphanedPods(desired);
  deps.observations.removeOrphans((uid) => desired.has(uid) || known.has(uid));
  await attempt(deps.logger, 'orphaned pod directories', () => deps.cleanupOrphans(desired, inRuntime));
  await deleteOrphanedMirrors(deps, orphanedMirrorFullNames);
  const restarted = restartMissingWorkers(deps, pods, known);
  finishRejected(deps, pods, known, inRuntime);
  // R77: what runs without a worker has no one who wants it, a refused pod's containers too
  for (const pod of running)
    if (!known.has(pod.uid) && !restarted.has(pod.uid)) {
      deps.workers.killRuntimePod(pod);
      deps.counts?.orphanFound();
    }
  await attempt(deps.logger, 'cgroups and back-offs', () => cleanupNode(possiblyRunning));
}

/** R74. */
async function deleteOrphanedMirrors(deps: HousekeepingDeps, fullNames: readonly string[]): Promise<void> {
  for (const fullName of fullNames) {
    if (deps.workers.isPodForMirrorPodTerminatingByFullName(fullName)) continue;
    await attempt(deps.logger, 'orphaned mirror pod', () => deps.deleteMirrorPod(fullName));
  }
}

/** R75: how a UID that was made anew starts again. Returns the UIDs that now have a worker. */
function restartMissingWorkers(
  deps: HousekeepingDeps,
  pods: readonly Pod[],
  known: ReadonlyMap<string, KnownWorker>,
): ReadonlySet<string> {
  const missing = pods.filter((pod) => !known.has(uidOf(pod)) && deps.isActive(pod) && !isMirrorPod(pod));
  for (const pod of missing) {
    deps.workers.startPod(pod);
    deps.counts?.restarted(pod);
  }
  return new Set(missing.map(uidOf));
}

/** R76: a pod that was refused and then deleted has no worker that could end it. */
function finishRejected(
  deps: HousekeepingDeps,
  pods: readonly Pod[],
  known: ReadonlyMap<string, KnownWorker>,
  inRuntime: ReadonlySet<string>,
): void {
  for (const pod of pods) {
    if (!pod.metadata?.deletionTimestamp) continue;
    const uid = uidOf(pod);
    const ended = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
    if (ended && !known.has(uid) && !inRuntime.has(uid)) deps.workers.killPod(pod);
  }
}

/** R73: one failing step does not end the pass. */
async function attempt(logger: Logger, what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    logger.error('housekeeping could not clean up', { what, err: messageOf(reason) });
  }
}
