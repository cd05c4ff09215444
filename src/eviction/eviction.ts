import { terminatedByKubelet } from '../kube/disruption.ts';
import { isCriticalPod } from '../kube/priority.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import { localStorageViolation } from './local-storage.ts';
import { evictionMessage, type MessageInput } from './message.ts';
import { rankPods } from './ranking.ts';
import { signalFacts } from './signals.ts';
import type { StatsOf, FileSystemLayout } from '../kube/stats-summary.ts';
import { isHardThreshold, type Threshold } from './thresholds.ts';

/** Reason of an evicted pod's status and Event. */
export const evictedReason = 'Evicted';

/** Grace period of a hard eviction, seconds. */
const immediateGraceSeconds = 1;

/** A pod to evict, and how. */
export interface Eviction {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** True when the node was short of a resource: the pod gets the condition DisruptionTarget. False when it exceeded its own limit. */
  readonly disrupted: boolean;
  /** The node's signal, or the pod's limit, that caused the eviction, for metrics. */
  readonly signal: string;
}

/** Inputs of choosing a pod. */
export interface Choice extends MessageInput {
  readonly pods: readonly Pod[];
  readonly layout: FileSystemLayout;
  /** Maximum grace period of a soft eviction, seconds. */
  readonly maxPodGracePeriodSeconds: number;
}

/**
 * Returns the pod to evict for `threshold`: the first in rank that is not critical (R248, R249).
 * `undefined` when no pod can be evicted.
 */
export function evictionFor(threshold: Threshold, choice: Choice): Eviction | undefined {
  const { signal } = threshold;
  const pod = rankPods(choice.pods, choice.stats, signal, choice.layout).find((each) => !isCriticalPod(each));
  if (!pod) return undefined;
  const own = pod.spec?.terminationGracePeriodSeconds ?? Infinity;
  return {
    pod,
    gracePeriodSeconds: isHardThreshold(threshold)
      ? immediateGraceSeconds
      : Math.min(choice.maxPodGracePeriodSeconds, own),
    ...evictionMessage(signalFacts[signal].resource, pod, choice),
    disrupted: true,
    signal,
  };
}

/** Returns every non-critical pod that exceeds a limit of its own local storage. */
export const limitEvictions = (
  pods: readonly Pod[],
  stats: StatsOf,
  layout: FileSystemLayout,
): readonly Eviction[] =>
  pods.flatMap((pod) => {
    const own = stats(uidOf(pod));
    const broken = own && !isCriticalPod(pod) ? localStorageViolation(pod, own, layout) : undefined;
    if (!broken) return [];
    return [{ pod, gracePeriodSeconds: immediateGraceSeconds, ...broken, disrupted: false }];
  });

/** Returns the status of a pod evicted at `now`, ms (R249). */
export function evictedStatus(
  status: PodStatus,
  { pod, message, disrupted }: Eviction,
  now: number,
): PodStatus {
  const failed: PodStatus = { ...status, phase: 'Failed', reason: evictedReason, message };
  return disrupted ? terminatedByKubelet(failed, pod, { message, now }) : failed;
}
