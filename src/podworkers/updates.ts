import type { Pod, PodStatus } from '../kube/types.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';

/** Why a pod is looked at. Kubelet's `SyncPodType`. */
export type UpdateType = 'create' | 'update' | 'sync' | 'kill';

/** Rewrites a pod's status once, at the start of its termination: eviction, preemption and shutdown write their reason so. */
export type PodStatusFn = (status: PodStatus) => PodStatus;

/** Called once, when what was asked for is done. Must not throw. */
export type Completion = () => void;

/** How a pod is to be killed. */
export interface KillPodOptions {
  /** It is an eviction: its content may go at once (R120). */
  readonly evict?: boolean;
  /** Seconds; counts only where it shortens (R101). */
  readonly gracePeriodSeconds?: number;
  readonly statusFn?: PodStatusFn;
  /** Settled when the pod has no running container any more, or at once when there is nothing to wait for (R276). */
  readonly completed?: Completion;
}

/**
 * What the workers are told of a pod. Either `pod`, or `runningPod` for what only the runtime knows; the latter can only be killed (R89).
 */
export interface UpdatePodOptions {
  readonly type: UpdateType;
  readonly pod?: Pod;
  /** Of a static pod, if there is one. */
  readonly mirrorPod?: Pod;
  readonly runningPod?: RuntimePod;
  /** When the change came in, ms since the epoch; for latency metrics. */
  readonly startTime?: number;
  readonly kill?: KillPodOptions;
}

/** The part of a kill that a step is told: the grace is the effective one. */
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

/** One update that waits for its worker, or that the worker has taken. */
export type Work = PodWork | RuntimePodWork;

/** Takes a consumed update into what a replay repeats: a `sync` without latency, status function and completion (R86). */
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
