import type { Members } from '../base/members.ts';
import type { Pod, PodStatus } from '../kube/types.ts';
import { StatusManager as Core, type StatusManagerDeps } from './status-manager.ts';

/**
 * The one writer of pod statuses: keeps the newest status of each pod and brings the API server to it. Implement it to test code that sets
 * statuses; construct {@link StatusManager:variable} to have the kubelet's.
 *
 * Follows kubelet `status.Manager`.
 */
export interface StatusManager {
  /** The newest status of a pod, sent or not; a mirror's UID gives its static pod's. */
  getPodStatus(uid: string): PodStatus | undefined;
  /** Keeps a pod's status and sends it soon. Returns whether anything of it was new. */
  setPodStatus(pod: Pod, status: PodStatus): boolean;
  setContainerReadiness(uid: string, containerId: string, ready: boolean): void;
  setContainerStartup(uid: string, containerId: string, started: boolean): void;
  /** Marks the status as final: containers without an end get one, and the pod's object is deleted once that is sent, if it is to be. */
  terminatePod(pod: Pod): void;
  /** Forgets the statuses of pods that are not in `keep`. */
  removeOrphanedStatuses(keep: Members): void;
  /** Sends statuses as they come and compares all with the API server every 10 s; resolves when `signal` has aborted. */
  start(signal: AbortSignal): Promise<void>;
}

/** The kubelet's status manager over a client and a pod lookup of your own. */
export const StatusManager: new (deps: StatusManagerDeps) => StatusManager = Core;
