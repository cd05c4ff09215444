import type { Clock } from '../base/clock.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { Pod, PodCondition, PodStatus } from '../kube/types.ts';
import { type KillPodDeps, killPodNow } from '../podworkers/kill-pod.ts';

const message = 'Preempted in order to admit critical pod';

/**
 * Ends a pod so that a critical one can run, with the victim's own grace (R135); resolves when it has stopped.
 *
 * Follows kubelet `CriticalPodAdmissionHandler.evictPodsToFreeRequests`.
 */
export async function preemptPod(
  deps: KillPodDeps & { readonly clock: Pick<Clock, 'now'> },
  victim: Pod,
  preemptor: Pod,
): Promise<void> {
  deps.recorder.event(victim, 'Warning', 'Preempting', message);
  const now = new Date(deps.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: `Pod was preempted by Kubelet to accommodate a critical pod ${keyOf(preemptor)} (${uidOf(preemptor)})`,
    lastTransitionTime: now,
  };
  const statusFn = (status: PodStatus): PodStatus => ({
    ...status,
    phase: 'Failed',
    reason: 'Preempting',
    message,
    conditions: [...(status.conditions ?? []).filter(({ type }) => type !== condition.type), condition],
  });
  await killPodNow(deps, victim, { evict: true, statusFn });
}
