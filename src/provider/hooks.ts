import type { Pod } from '../kube/types.ts';
import type { PodRef } from './refs.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';

/** A pod as a provider observed it: the listing of it and its status, of the same instant. */
export interface ObservedPod {
  readonly pod: RuntimePod;
  readonly status: RuntimePodStatus;
}

/** Something that the backend reports of a pod, for people to read. */
export interface BackendEvent {
  readonly pod: PodRef;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** Which UIDs are in a set. */
export interface PodSet {
  has(uid: string): boolean;
}

/** Powers of providers whose pods are not on this machine: clouds, queues, other clusters. A provider for this machine needs none of them. */
export interface ProviderHooks {
  /**
   * Removes whatever the provider keeps of a pod, its logs and records included. Called when the pod is being deleted and none of its
   * containers run, and for pods of the listing whose API object is gone, when two listings in a row have shown them.
   *
   * The API object stays until this has resolved: it is repeated with a growing delay, across restarts of the agent, for as long as it
   * rejects. Must be idempotent; a pod that is not there has been removed.
   *
   * @param pod absent: of the pod only the listing is known
   */
  deletePod?(ref: PodRef, pod: Pod | undefined, signal: AbortSignal): Promise<void>;

  /**
   * Removes what belongs to no pod of `wanted`, besides pods: networks, volumes, registrations. Called after each housekeeping pass
   * (every 2 s) in which all sources of pods were complete and the listing succeeded; what it does must be cheap when nothing is left over.
   */
  cleanupPods?(wanted: PodSet, signal: AbortSignal): Promise<void>;

  /**
   * Registers a listener for pods as they change, for providers that are told by their backend. An observation replaces what the agent
   * knew of the pod without another listing; observations of one pod must be in order. Listings go on besides, so that one that was lost
   * is made up for. The returned function ends the subscription.
   */
  onPodStatus?(listener: (observed: ObservedPod) => void): () => void;

  /**
   * Registers a listener for what the backend reports of pods, e.g. a failed image pull. The agent records each as an Event of the pod; a
   * provider must report each once. The returned function ends the subscription.
   */
  onBackendEvent?(listener: (event: BackendEvent) => void): () => void;
}
