import type { Pod, PodStatus } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';

/** Why a pod is synced. Kubelet's `SyncPodType`. */
export type UpdateType = 'create' | 'update' | 'sync' | 'kill';

/** Rewrites a pod's status once, when its termination begins. Eviction, preemption and node shutdown set their reason with it. */
export type PodStatusFn = (status: PodStatus) => PodStatus;

/** Called once, when the requested operation is done. Must not throw. */
export type Completion = () => void;

/** The options of a kill. */
export interface KillPodOptions {
  /** True for an eviction: the pod's content may be removed at once (R120). */
  readonly evict?: boolean;
  /** The grace period in seconds; applies only where it is shorter than the one in force (R101). */
  readonly gracePeriodSeconds?: number;
  readonly statusFn?: PodStatusFn;
  /** Called when the pod has no running container any more, or at once when there is nothing to wait for (R276). */
  readonly completed?: Completion;
}

/**
 * An update for a pod's worker. It names either `pod`, or `runningPod` for a pod that only the runtime knows; the latter can only be killed
 * (R89).
 */
export interface UpdatePodOptions {
  readonly type: UpdateType;
  readonly pod?: Pod;
  /** The mirror pod of a static pod, if there is one. */
  readonly mirrorPod?: Pod;
  readonly runningPod?: RuntimePod;
  /** When the change came in, ms since the epoch; for latency metrics. */
  readonly startTime?: number;
  readonly kill?: KillPodOptions;
}

/** The part of a kill that reaches a step; `gracePeriodSeconds` is the effective one. */
export type Kill = Pick<KillPodOptions, 'evict' | 'gracePeriodSeconds' | 'statusFn'>;

interface WorkBase {
  readonly type: UpdateType;
  readonly mirrorPod: Pod | undefined;
  readonly startTime: number | undefined;
  readonly kill: Kill | undefined;
}

/** Work on a pod with configuration. */
export interface PodWork extends WorkBase {
  readonly pod: Pod;
  readonly runningPod: undefined;
}

/** Work on a pod that only the runtime knows. */
export interface RuntimePodWork extends WorkBase {
  readonly pod: undefined;
  readonly runningPod: RuntimePod;
}

/** An update that is pending or that the worker has taken. */
export type Work = PodWork | RuntimePodWork;

/**
 * Merges a consumed update into the active one, which a replay repeats: a `sync` without start time, status function and completion (R86).
 */
export function mergeWork(active: Work | undefined, work: Work): Work {
  const { kill } = work;
  const remembered = {
    type: 'sync',
    startTime: undefined,
    mirrorPod: work.mirrorPod ?? active?.mirrorPod,
    kill: kill
      ? {
          ...(kill.evict && { evict: true }),
          ...(kill.gracePeriodSeconds !== undefined && { gracePeriodSeconds: kill.gracePeriodSeconds }),
        }
      : active?.kill,
  } as const;
  return work.pod
    ? { ...remembered, pod: work.pod, runningPod: undefined }
    : { ...remembered, pod: undefined, runningPod: work.runningPod };
}
