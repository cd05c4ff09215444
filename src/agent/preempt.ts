import { messageOf } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { terminatedByKubelet } from '../kube/disruption.ts';
import { keyOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import { type KillPodDeps, killPodNow } from '../podworkers/kill-pod.ts';

const message = 'Preempted in order to admit critical pod';

/**
 * Ends a pod so that a critical one can run, with the victim's own grace (R135); resolves when it has stopped. One that does not stop in
 * time keeps nobody waiting: its worker goes on trying.
 *
 * Follows kubelet `CriticalPodAdmissionHandler.evictPodsToFreeRequests`.
 */
export async function preemptPod(
  deps: KillPodDeps & {
    readonly clock: Pick<Clock, 'now'>;
    readonly logger: Logger;
    /** It has stopped; absent: nobody counts. */
    readonly preempted?: () => void;
  },
  victim: Pod,
): Promise<void> {
  deps.recorder.event(victim, 'Warning', 'Preempting', message);
  const termination = {
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    now: deps.clock.now(),
  };
  const statusFn = (status: PodStatus): PodStatus => ({
    ...terminatedByKubelet(status, victim, termination),
    phase: 'Failed',
    reason: 'Preempting',
    message,
  });
  try {
    await killPodNow(deps, victim, { evict: true, statusFn });
    deps.preempted?.();
  } catch (err) {
    deps.logger.error('preempted pod has not stopped', { pod: keyOf(victim), err: messageOf(err) });
  }
}
