import type { Clock } from '../base/clock.ts';
import type { EventRecorder } from '../kube/events.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, PodStatus } from '../kube/types.ts';

const reason = 'DeadlineExceeded';
const message = 'Pod was active on the node longer than the specified deadline';

export interface ActiveDeadlineDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly recorder: EventRecorder;
  /** The status as this agent last computed it. */
  getPodStatus(uid: string): PodStatus | undefined;
}

/**
 * Is the pod over `spec.activeDeadlineSeconds`? Counted from the start time of the cached status, if there is one, even when that
 * has none; else from the pod's own status (R207). Due at the very second.
 */
export function isPastActiveDeadline(pod: Pod, cached: PodStatus | undefined, now: number): boolean {
  const deadlineSeconds = pod.spec?.activeDeadlineSeconds;
  const { startTime } = cached ?? pod.status ?? {};
  if (deadlineSeconds === undefined || !startTime) return false;
  return now - Date.parse(startTime) >= deadlineSeconds * 1000;
}

/**
 * Ends pods that were active for too long: asks for a sync at each tick and forces the phase Failed in it.
 *
 * Follows kubelet `activeDeadlineHandler`.
 */
export class ActiveDeadline {
  readonly #deps: ActiveDeadlineDeps;

  constructor(deps: ActiveDeadlineDeps) {
    this.#deps = deps;
  }

  /** Asked at each tick of the sync loop (R43). */
  shouldSync(pod: Pod): boolean {
    return isPastActiveDeadline(pod, this.#deps.getPodStatus(uidOf(pod)), this.#deps.clock.now());
  }

  /** Asked whenever the status is generated; says so in an Event each time. */
  shouldEvict(pod: Pod): { readonly reason: string; readonly message: string } | undefined {
    if (!this.shouldSync(pod)) return undefined;
    this.#deps.recorder.event(pod, 'Normal', reason, message);
    return { reason, message };
  }
}
