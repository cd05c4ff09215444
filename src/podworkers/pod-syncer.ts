import type { Pod } from '../kube/types.ts';
import type { RuntimePod, RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { PodStatusFn, UpdateType } from './updates.ts';

/** What every step on a pod with configuration is given. */
export interface PodStep {
  readonly pod: Pod;
  /** Observed after the end of the worker's previous step (R112). */
  readonly runtimeStatus: RuntimePodStatus;
}

export interface SyncPodStep extends PodStep {
  readonly updateType: UpdateType;
  readonly mirrorPod: Pod | undefined;
}

export interface SyncTerminatingPodStep extends PodStep {
  /** The effective grace period, seconds; absent: nobody has asked for one (the pod ended by itself, or was orphaned). */
  readonly gracePeriodSeconds: number | undefined;
  /** The last one that asked for this end (R113). */
  readonly statusFn: PodStatusFn | undefined;
}

/** How `syncPod` went; a rejection is an `error` alone. */
export interface SyncPodOutcome {
  /** The pod has ended by itself. Without effect if there is an error too (R115). */
  readonly terminal: boolean;
  readonly error?: Error;
  /** Run after the step, before the next one is planned; with an error too (R152). */
  readonly postSync?: () => void;
}

/**
 * The verbs of a pod: each brings it one stage on. For one UID they never overlap (R83); a step that rejects is repeated (R117). The
 * signal aborts when the step is out of date (R100); a step may go on nevertheless.
 *
 * An error may carry `backOffUntil` (ms since the epoch): when trying again makes sense (R117).
 *
 * Follows kubelet `podSyncer`.
 */
export interface PodSyncer {
  syncPod(step: SyncPodStep, signal: AbortSignal): Promise<SyncPodOutcome>;
  /** Resolves when no container of the pod runs. */
  syncTerminatingPod(step: SyncTerminatingPodStep, signal: AbortSignal): Promise<void>;
  /** The same for what only the runtime knows. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  /** Resolves when nothing of the pod is left on the node but its containers and logs. */
  syncTerminatedPod(step: PodStep, signal: AbortSignal): Promise<void>;
}
