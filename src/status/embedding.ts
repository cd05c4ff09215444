import type { Members } from '../base/members.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import { StatusManager as Core, type StatusManagerDeps } from './status-manager.ts';

/**
 * StatusManager is the only writer of pod statuses: it stores the newest status of each pod and sends it to the API server. Implement it to
 * test code that sets statuses; construct {@link StatusManager:variable} for the kubelet's behaviour.
 *
 * Follows kubelet `status.Manager`.
 */
export interface StatusManager {
  /** The newest status of a pod, whether sent or not. The UID of a mirror pod returns the status of its static pod. */
  getPodStatus(uid: string): PodStatus | undefined;
  /** Stores a pod's status and sends it soon. Returns whether the status changed. */
  setPodStatus(pod: Pod, status: PodStatus): boolean;
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /**
   * Marks the status as final: containers without an end get one. Once it is sent, the pod's object is deleted if its deletion was
   * requested.
   */
  terminatePod(pod: Pod): void;
  /** Forgets the statuses of pods that are not in `keep`. */
  removeOrphanedStatuses(keep: Members): void;
  /** Sends new statuses at once and compares all of them with the API server every 10 s. Resolves when `signal` has aborted. */
  start(signal: AbortSignal): Promise<void>;
}

/**
 * The kubelet's status manager on top of your own client and pod lookup.
 *
 * @example
 * const statuses = new StatusManager({ clock: systemClock, client, pods, deletionSafety, logger });
 * void statuses.start(stop.signal);
 * statuses.setPodStatus(pod, { phase: 'Running' });
 */
export const StatusManager: new (deps: StatusManagerDeps) => StatusManager = Core;
