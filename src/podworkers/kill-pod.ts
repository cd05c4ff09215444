import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Pod } from '../kube/types.ts';
import type { KillPodOptions, UpdatePodOptions } from './updates.ts';

/** The shortest time that {@link killPodNow} waits for the end of a pod, seconds (R106). */
export const minimumKillTimeoutSeconds = 10;

export interface KillPodDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly recorder: EventRecorder;
  readonly workers: { updatePod(options: UpdatePodOptions): void };
}

/** How long {@link killPodNow} waits for the end of a pod with this grace period: 1.5 times the period, at least 10 s (R106). */
export const killTimeoutMs = (graceSeconds: number): number =>
  1000 * Math.max(minimumKillTimeoutSeconds, graceSeconds + Math.trunc(graceSeconds / 2));

/**
 * Kills the pod and resolves when none of its containers runs. Used by eviction, preemption and node shutdown (R106).
 *
 * @throws {AgentError} `deadline_exceeded` after {@link killTimeoutMs}, with the Event `ExceededGracePeriod`; the worker keeps trying
 *
 * Follows kubelet `killPodNow`.
 */
export function killPodNow(
  deps: KillPodDeps,
  pod: Pod,
  options: Omit<KillPodOptions, 'completed'>,
): Promise<void> {
  const graceSeconds = options.gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 0;
  return new Promise((resolve, reject) => {
    const stop = deps.clock.timer(killTimeoutMs(graceSeconds), () => {
      deps.recorder.event(
        pod,
        'Warning',
        'ExceededGracePeriod',
        'Container runtime did not kill the pod within specified grace period.',
      );
      reject(new AgentError('deadline_exceeded', 'timeout waiting to kill pod'));
    });
    const completed = (): void => {
      stop();
      resolve();
    };
    deps.workers.updatePod({ type: 'kill', pod, kill: { ...options, completed } });
  });
}
