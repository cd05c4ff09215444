import type { Pod } from '../kube/types.ts';
import type { RuntimePod, RuntimePodStatus } from '../provider/runtime-pod.ts';
import type { PodStatusFn, UpdateType } from './updates.ts';

/** The input of every step on a pod with configuration. */
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
  /** The effective grace period, seconds; absent when no update requested one (the pod ended by itself, or was orphaned). */
  readonly gracePeriodSeconds: number | undefined;
  /** The status function of the last kill (R113). */
  readonly statusFn: PodStatusFn | undefined;
}

/** The outcome of `syncPod`. A rejection counts as an outcome with only an `error`. */
export interface SyncPodOutcome {
  /** True when all containers of the pod have ended by themselves. Ignored when `error` is set too (R115). */
  readonly terminal: boolean;
  readonly error?: Error;
  /** Runs after the step, also after one with an error, before the next step is scheduled (R152). */
  readonly postSync?: () => void;
}

/**
 * PodSyncer executes the steps of a pod's lifecycle. Steps of one UID never overlap (R83), and a step that rejects is repeated (R117). The
 * signal aborts when a newer update makes the step obsolete (R100); a step may run to its end nevertheless.
 *
 * An error may carry `backOffUntil` (ms since the epoch), the earliest time at which another attempt makes sense (R117).
 *
 * Follows kubelet `podSyncer`.
 */
export interface PodSyncer {
  syncPod(step: SyncPodStep, signal: AbortSignal): Promise<SyncPodOutcome>;
  /** Resolves when no container of the pod runs. */
  syncTerminatingPod(step: SyncTerminatingPodStep, signal: AbortSignal): Promise<void>;
  /** Stops a pod that only the runtime knows. Resolves when none of its containers runs. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  /** Resolves when everything that the pod held on the node is released, except its containers and logs. */
  syncTerminatedPod(step: PodStep, signal: AbortSignal): Promise<void>;
}
