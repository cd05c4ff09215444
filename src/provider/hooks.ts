import type { Pod } from '../kube/types.ts';
import type { PodRef } from './refs.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';

/** A pod as a provider observed it: its entry in the listing and its status, of the same time. */
export interface ObservedPod {
  readonly pod: RuntimePod;
  readonly status: RuntimePodStatus;
}

/** An event that the backend reports about a pod. */
export interface BackendEvent {
  readonly pod: PodRef;
  readonly type: 'Normal' | 'Warning';
  /** The reason in CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** A set of pods, queried by UID. */
export interface PodSet {
  has(uid: string): boolean;
}

/**
 * The optional methods for providers whose pods are not on this machine: clouds, queues, other clusters. A provider for this machine needs
 * none.
 */
export interface ProviderHooks {
  /**
   * Removes everything that the provider stores for a pod, including its logs and records. Called when the pod is being deleted and none of
   * its containers run, and for a listed pod without an API object once two consecutive listings have shown it.
   *
   * The API object remains until this has resolved: while it rejects, the call is repeated with a growing delay, also across restarts of
   * the agent. Must be idempotent; a pod that does not exist counts as removed.
   *
   * @param pod absent when the pod is known from the listing only
   */
  deletePod?(ref: PodRef, pod: Pod | undefined, signal: AbortSignal): Promise<void>;

  /**
   * Removes resources other than pods (networks, volumes, registrations) that belong to no pod in `retained`, the pods that are desired or
   * still have a worker. Called after each housekeeping pass (every 2 s) in which all pod sources were complete and the listing succeeded.
   * Must be cheap when there is nothing to remove.
   */
  cleanupPods?(retained: PodSet, signal: AbortSignal): Promise<void>;

  /**
   * Registers a listener for changed pods, for providers whose backend notifies them. An observation replaces the agent's view of the pod
   * without another listing; observations of one pod must be in order. Periodic listings continue and make up for a lost observation. The
   * returned function ends the subscription.
   */
  onPodStatus?(listener: (observed: ObservedPod) => void): () => void;

  /**
   * Registers a listener for events of the backend, such as a failed image pull. The agent records each one as an Event of the pod; a
   * provider must report each one once. The returned function ends the subscription.
   */
  onBackendEvent?(listener: (event: BackendEvent) => void): () => void;
}
