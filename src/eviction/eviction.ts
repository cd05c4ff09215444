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

/** The reason of an evicted pod's status and of the Event about it. */
export const evictedReason = 'Evicted';

/** The grace of a pod that must go at once, seconds. */
const immediateGraceSeconds = 1;

/** Who goes, and how. */
export interface Eviction {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The node was short of something: the pod gets the condition DisruptionTarget. Its own fault gives none. */
  readonly disrupted: boolean;
  /** What of the node, or which limit of the pod's, it goes for; as metrics name it. */
  readonly signal: string;
}

/** What the choice is made from. */
export interface Choice extends MessageInput {
  readonly pods: readonly Pod[];
  readonly layout: FileSystemLayout;
  /** The most that a soft threshold leaves a pod, seconds. */
  readonly maxPodGracePeriodSeconds: number;
}

/**
 * The one pod that goes so that `threshold` is kept: the first in rank that is not critical, as those are never evicted (R248, R249).
 * `undefined`: nobody can go.
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

/** Every pod that breaks a limit of its own local storage, critical ones left out. */
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

/** The status of a pod that was evicted at `now`, ms (R249). */
export function evictedStatus(
  status: PodStatus,
  { pod, message, disrupted }: Eviction,
  now: number,
): PodStatus {
  const failed: PodStatus = { ...status, phase: 'Failed', reason: evictedReason, message };
  return disrupted ? terminatedByKubelet(failed, pod, { message, now }) : failed;
}
