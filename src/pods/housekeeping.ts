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
    /** @param known takes what is left, in place of what it had */
    syncKnownPods(desired: readonly Pod[], wanted: Members, known: Map<string, PodWorkerSync>): void;
    startPod(pod: Pod): void;
    killPod(pod: Pod): void;
    killRuntimePod(running: RuntimePod): void;
    isPodForMirrorPodTerminatingByFullName(fullName: string): boolean;
  };
  readonly probes: { cleanupPods(possiblyRunning: Members): void };
  readonly statuses: { removeOrphanedStatuses(keep: Members): void };
  readonly allocations: { removeOrphanedPods(remaining: Members): void };
  readonly observations: { removeOrphans(keep: (uid: string) => boolean): void };
  /** R70: the runtime's own listing, not the cache's; stopped pods too. */
  listPods(): Promise<readonly RuntimePod[]>;
  isActive(pod: Pod): boolean;
  deleteMirrorPod(fullName: string): Promise<void>;
  /** R73: directories, volumes, allocations of pods that nobody wants or runs. */
  cleanupOrphans(desired: Members, running: Members): Promise<void>;
  /** What a remote provider keeps of pods that have ended; absent: nothing. */
  readonly remains?: Pick<Remains, 'sweep' | 'forget'>;
  /** What of the provider belongs to no pod that is wanted or has a worker; absent: nothing. */
  cleanupProvider?(wanted: Members): Promise<void>;
  /** R79: cgroups and back-off entries of what cannot run. What there is is noted before the pods are read (R67). */
  cleanupNode(): (possiblyRunning: Members) => Promise<void>;
}

/** What one pass knows of the node, by UID. */
interface Findings {
  readonly desired: RecurringSet;
  readonly inRuntime: RecurringSet;
  readonly known: Map<string, PodWorkerSync>;
  /** What ran without being wanted in the last pass. */
  orphans: ReadonlySet<string>;
}

/**
 * The periodic sweep that makes what runs equal what is wanted, whatever was missed. The order of its steps matters (R67…R80).
 *
 * Follows kubelet `HandlePodCleanups`.
 */
export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  /** Taken by a pass and given back: every two seconds thousands of pods are mostly the same. */
  #spare: Findings | undefined;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
  }

  /** One pass. @throws where the runtime's pods cannot be listed; the next pass does what this one has left */
  async handlePodCleanups(): Promise<void> {
    const findings = this.#spare ?? {
      desired: new RecurringSet(),
      inRuntime: new RecurringSet(),
      known: new Map(),
      orphans: new Set(),
    };
    this.#spare = undefined; // another pass, should it begin before the end of this one, has its own
    try {
      await sweep(this.#deps, findings);
    } finally {
      this.#spare = findings;
    }
  }
}

async function sweep(deps: HousekeepingDeps, findings: Findings): Promise<void> {
  const { known, ...sets } = findings;
  const cleanupNode = deps.cleanupNode(); // R67: notes what there is before the pods are read
  const { pods, mirrors, orphanedMirrorFullNames } = deps.pods.getPodsAndMirrorPods();
  const desired = sets.desired.refill(pods, uidOf);
  deps.workers.syncKnownPods(pods, desired, known);
  const listed = await deps.listPods(); // R70: without it the pass ends here
  const running = listed.every(isRunning) ? listed : listed.filter(isRunning);
  const inRuntime = sets.inRuntime.refill(running, ({ uid }) => uid);
  const possiblyRunning: Members = {
    has: (uid) => (known.get(uid)?.state ?? 'terminated') !== 'terminated',
  };

  deps.probes.cleanupPods(possiblyRunning);
  const mirrorUids = new Set(mirrors.map(uidOf));
  deps.statuses.removeOrphanedStatuses({ has: (uid) => desired.has(uid) || mirrorUids.has(uid) });
  deps.allocations.removeOrphanedPods(desired);
  deps.observations.removeOrphans((uid) => desired.has(uid) || known.has(uid));
  await attempt(deps.logger, 'orphaned pod directories', () => deps.cleanupOrphans(desired, inRuntime));
  await deleteOrphanedMirrors(deps, orphanedMirrorFullNames);
  const restarted = restartMissingWorkers(deps, pods, known);
  finishRejected(deps, pods, known, inRuntime);
  const orphans = running.filter(({ uid }) => !known.has(uid) && !restarted.has(uid));
  killOrphans(deps, orphans, findings);
  await attempt(deps.logger, 'cgroups and back-offs', () => cleanupNode(possiblyRunning));
  const wanted: Members = { has: (uid) => desired.has(uid) || known.has(uid) || restarted.has(uid) };
  deps.remains?.sweep(listed, (uid) => wanted.has(uid));
  deps.remains?.forget(wanted);
  await attempt(deps.logger, 'what the provider keeps', async () => deps.cleanupProvider?.(wanted));
}

const isRunning = ({ containers, sandboxes }: RuntimePod): boolean =>
  containers.some(isRunningItem) || sandboxes.some(isRunningItem);

const isRunningItem = ({ state }: { readonly state: string }): boolean => state === 'running';

/**
 * R77: what runs without a worker is not wanted, a refused pod's containers too. A remote provider's listing may be late: what runs there must be
 * shown by two listings.
 */
function killOrphans(deps: HousekeepingDeps, orphans: readonly RuntimePod[], findings: Findings): void {
  for (const pod of orphans) {
    if (deps.remains && !findings.orphans.has(pod.uid)) continue;
    deps.workers.killRuntimePod(pod);
    deps.counts?.orphanFound();
  }
  if (deps.remains) findings.orphans = new Set(orphans.map(({ uid }) => uid));
}

/** R74. */
async function deleteOrphanedMirrors(deps: HousekeepingDeps, fullNames: readonly string[]): Promise<void> {
  for (const fullName of fullNames) {
    if (deps.workers.isPodForMirrorPodTerminatingByFullName(fullName)) continue;
    await attempt(deps.logger, 'orphaned mirror pod', () => deps.deleteMirrorPod(fullName));
  }
}

/** R75: how a UID that was made anew starts again. Returns the UIDs that now have a worker. */
function restartMissingWorkers(deps: HousekeepingDeps, pods: readonly Pod[], known: Members): Members {
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
  known: Members,
  inRuntime: Members,
): void {
  pods.forEach((pod) => {
    if (!pod.metadata?.deletionTimestamp) return;
    const uid = uidOf(pod);
    const ended = isTerminalPhase(pod.status?.phase);
    if (ended && !known.has(uid) && !inRuntime.has(uid)) deps.workers.killPod(pod);
  });
}

/** R73: one failing step does not end the pass. */
async function attempt(logger: Logger, what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    logger.error('housekeeping could not clean up', { what, err: messageOf(reason) });
  }
}
