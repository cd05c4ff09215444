import type { Clock } from '../base/clock.ts';
import type { EventRecorder } from '../kube/events.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';

const reason = 'DeadlineExceeded';
const message = 'Pod was active on the node longer than the specified deadline';

export interface ActiveDeadlineDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly recorder: EventRecorder;
  /** The last status that this agent computed. */
  getPodStatus(uid: string): PodStatus | undefined;
}

/**
 * True once the pod has been active for `spec.activeDeadlineSeconds`, at that very second. Counted from the start time of the cached
 * status; when there is no cached status, from the pod's own status (R207). Never true when the status used has no start time.
 */
export function isPastActiveDeadline(pod: Pod, cached: PodStatus | undefined, now: number): boolean {
  const deadlineSeconds = pod.spec?.activeDeadlineSeconds;
  const { startTime } = cached ?? pod.status ?? {};
  if (deadlineSeconds === undefined || !startTime) return false;
  return now - Date.parse(startTime) >= deadlineSeconds * 1000;
}

/**
 * ActiveDeadline ends pods that exceed their active deadline: it requests a sync at each tick, and the sync sets the phase to Failed.
 *
 * Follows kubelet `activeDeadlineHandler`.
 */
export class ActiveDeadline {
  readonly #deps: ActiveDeadlineDeps;

  constructor(deps: ActiveDeadlineDeps) {
    this.#deps = deps;
  }

  /** True when the pod must be synced because its deadline has passed. Called at each tick of the sync loop (R43). */
  shouldSync(pod: Pod): boolean {
    return isPastActiveDeadline(pod, this.#deps.getPodStatus(uidOf(pod)), this.#deps.clock.now());
  }

  /** The reason and message once the deadline has passed; records an Event each time. Called whenever the status is generated. */
  shouldEvict(pod: Pod): { readonly reason: string; readonly message: string } | undefined {
    if (!this.shouldSync(pod)) return undefined;
    this.#deps.recorder.event(pod, 'Normal', reason, message);
    return { reason, message };
  }
}
