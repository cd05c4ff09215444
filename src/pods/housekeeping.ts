import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { type Members, RecurringSet } from '../base/members.ts';
import { isMirrorPod, uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodWorkerSync } from '../podworkers/queries.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import { isTerminalPhase } from '../kube/pod-phase.ts';
import type { Remains } from './remains.ts';

export interface HousekeepingDeps {
  readonly logger: Logger;
  /** Receives counts for metrics. */
  readonly counts?: { restarted(pod: Pod): void; orphanFound(): void };
  readonly pods: {
    /** The pods and the mirror pods, separately, and the full names of mirror pods whose static pod is gone. */
    getPodsAndMirrorPods(): {
      readonly pods: readonly Pod[];
      readonly mirrors: readonly Pod[];
      readonly orphanedMirrorFullNames: readonly string[];
    };
  };
  readonly workers: {
    /** @param syncs the map to fill with the remaining workers; other entries are removed */
    syncKnownPods(desired: readonly Pod[], desiredUids: Members, syncs: Map<string, PodWorkerSync>): void;
    startPod(pod: Pod): void;
    killPod(pod: Pod): void;
    killRuntimePod(running: RuntimePod): void;
    isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
  };
  readonly probes: { cleanupPods(possiblyRunning: Members): void };
  readonly statuses: { removeOrphanedStatuses(keep: Members): void };
  readonly allocations: { removeOrphanedPods(remaining: Members): void };
  readonly observations: { removeOrphans(keep: (uid: string) => boolean): void };
  /** Lists the pods in the runtime itself, not from the cache, including stopped ones (R70). */
  listPods(): Promise<readonly RuntimePod[]>;
  isActive(pod: Pod): boolean;
  deleteMirrorPod(fullName: string): Promise<void>;
  /** Removes directories, volumes and allocations of pods that are neither desired nor running (R73). */
  cleanupOrphans(desired: Members, running: Members): Promise<void>;
  /** The clean-up of what a remote provider stores for pods that have ended; absent when it stores nothing. */
  readonly remains?: Pick<Remains, 'sweep' | 'forget'>;
  /** Removes resources of the provider that belong to no pod in `retained`; absent when there are none. */
  cleanupProvider?(retained: Members): Promise<void>;
  /** Removes cgroups and back-off entries of pods that cannot run (R79). The call records what exists before the pods are read (R67). */
  cleanupNode(): (possiblyRunning: Members) => Promise<void>;
}

/** The state of the node that one pass collects, by UID. */
interface Findings {
  readonly desired: RecurringSet;
  readonly inRuntime: RecurringSet;
  readonly workers: Map<string, PodWorkerSync>;
  /** The pods that ran without being desired in the last pass. */
  orphans: ReadonlySet<string>;
}

/**
 * Housekeeping periodically makes the running pods match the desired ones, whatever events were missed. The order of its steps matters
 * (R67…R80).
 *
 * Follows kubelet `HandlePodCleanups`.
 */
export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  /** The collections of the last pass, reused by the next: every two seconds thousands of pods are mostly the same. */
  #spare: Findings | undefined;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
  }

  /** Runs one pass. @throws when the runtime's pods cannot be listed; the next pass then does the rest */
  async handlePodCleanups(): Promise<void> {
    const findings = this.#spare ?? {
      desired: new RecurringSet(),
      inRuntime: new RecurringSet(),
      workers: new Map(),
      orphans: new Set(),
    };
    this.#spare = undefined; // a pass that begins before the end of this one makes its own collections
    try {
      await sweep(this.#deps, findings);
    } finally {
      this.#spare = findings;
    }
  }
}

async function sweep(deps: HousekeepingDeps, findings: Findings): Promise<void> {
  const { workers, ...sets } = findings;
  const cleanupNode = deps.cleanupNode(); // R67: records what exists before the pods are read
  const { pods, mirrors, orphanedMirrorFullNames } = deps.pods.getPodsAndMirrorPods();
  const desired = sets.desired.refill(pods, uidOf);
  deps.workers.syncKnownPods(pods, desired, workers);
  const listed = await deps.listPods(); // R70: when it fails the pass ends here
  const running = listed.every(isRunning) ? listed : listed.filter(isRunning);
  const inRuntime = sets.inRuntime.refill(running, ({ uid }) => uid);
  const possiblyRunning: Members = {
    has: (uid) => (workers.get(uid)?.state ?? 'terminated') !== 'terminated',
  };

  deps.probes.cleanupPods(possiblyRunning);
  const mirrorUids = new Set(mirrors.map(uidOf));
  deps.statuses.removeOrphanedStatuses({ has: (uid) => desired.has(uid) || mirrorUids.has(uid) });
  deps.allocations.removeOrphanedPods(desired);
  deps.observations.removeOrphans((uid) => desired.has(uid) || workers.has(uid));
  await attempt(deps.logger, 'orphaned pod directories', () => deps.cleanupOrphans(desired, inRuntime));
  await deleteOrphanedMirrors(deps, orphanedMirrorFullNames);
  const restarted = restartMissingWorkers(deps, pods, workers);
  finishRejected(deps, pods, workers, inRuntime);
  const orphans = running.filter(({ uid }) => !workers.has(uid) && !restarted.has(uid));
  killOrphans(deps, orphans, findings);
  await attempt(deps.logger, 'cgroups and back-offs', () => cleanupNode(possiblyRunning));
  const retained: Members = { has: (uid) => desired.has(uid) || workers.has(uid) || restarted.has(uid) };
  deps.remains?.sweep(listed, (uid) => retained.has(uid));
  deps.remains?.forget(retained);
  await attempt(deps.logger, 'resources of the provider', async () => deps.cleanupProvider?.(retained));
}

const isRunning = ({ containers, sandboxes }: RuntimePod): boolean =>
  containers.some(isRunningItem) || sandboxes.some(isRunningItem);

const isRunningItem = ({ state }: { readonly state: string }): boolean => state === 'running';

/**
 * Kills running pods without a worker, including containers of a rejected pod (R77). The listing of a remote provider may lag behind, so a
 * pod there must appear in two listings.
 */
function killOrphans(deps: HousekeepingDeps, orphans: readonly RuntimePod[], findings: Findings): void {
  for (const pod of orphans) {
    if (deps.remains && !findings.orphans.has(pod.uid)) continue;
    deps.workers.killRuntimePod(pod);
    deps.counts?.orphanFound();
  }
  if (deps.remains) findings.orphans = new Set(orphans.map(({ uid }) => uid));
}

/** Deletes mirror pods whose static pod is gone (R74). */
async function deleteOrphanedMirrors(deps: HousekeepingDeps, fullNames: readonly string[]): Promise<void> {
  for (const fullName of fullNames) {
    if (deps.workers.isPodForMirrorPodTerminatingByFullName(fullName)) continue;
    await attempt(deps.logger, 'orphaned mirror pod', () => deps.deleteMirrorPod(fullName));
  }
}

/** Gives a worker to desired pods without one, such as a UID that was created again (R75). Returns their UIDs. */
function restartMissingWorkers(deps: HousekeepingDeps, pods: readonly Pod[], workers: Members): Members {
  const missing = pods.filter((pod) => !workers.has(uidOf(pod)) && deps.isActive(pod) && !isMirrorPod(pod));
  for (const pod of missing) {
    deps.workers.startPod(pod);
    deps.counts?.restarted(pod);
  }
  return new Set(missing.map(uidOf));
}

/** Kills a pod that was rejected and then deleted: it has no worker that could terminate it (R76). */
function finishRejected(
  deps: HousekeepingDeps,
  pods: readonly Pod[],
  workers: Members,
  inRuntime: Members,
): void {
  pods.forEach((pod) => {
    if (!pod.metadata?.deletionTimestamp) return;
    const uid = uidOf(pod);
    const ended = isTerminalPhase(pod.status?.phase);
    if (ended && !workers.has(uid) && !inRuntime.has(uid)) deps.workers.killPod(pod);
  });
}

/** Runs one step and logs its failure, which does not end the pass (R73). */
async function attempt(logger: Logger, what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    logger.error('housekeeping clean-up failed', { what, err: messageOf(reason) });
  }
}
