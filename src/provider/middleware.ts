import type { Container, Pod, PodStatus, ResourceRequirements } from '../kube/types.ts';
import type { PodSyncResult, SyncPodRequest } from './provider.ts';

/** The decision that a pod may not run on this node. The pod goes to phase Failed with this reason and message. */
export interface PodRefusal {
  /** The reason in CamelCase, for `status.reason` and the Event, e.g. `ImageNotAllowed`. */
  readonly reason: string;
  /** What is wrong, where, and what would be right. */
  readonly message: string;
}

/** The input of {@link Middleware.podAddition}. */
export interface PodAdditionContext {
  /** The pod, with the changes of the middleware before this one. Must not be changed in place. */
  readonly pod: Pod;
  /** Aborts at the hook's deadline, and when the step that called it is obsolete. */
  readonly signal: AbortSignal;
}

/** The result of {@link Middleware.podAddition}: a changed copy, or a refusal. Nothing: the pod may run as it is. */
export type PodAdditionResult = { readonly pod: Pod } | { readonly refuse: PodRefusal } | undefined;

/** The input of hooks for one container. */
export interface ContainerContext extends PodAdditionContext {
  readonly container: Container;
  /** True for a container of `initContainers`, sidecars among them. */
  readonly init: boolean;
}

/** A directory or file of this machine that a container gets in addition to its volumes. */
export interface ExtraMount {
  /** The absolute path on this machine. */
  readonly hostPath: string;
  /** The absolute path in the container. */
  readonly mountPath: string;
  /** Default: true. */
  readonly readOnly?: boolean;
}

/** What a middleware changes in a container; absent members stay as they are. */
export interface ContainerOptions {
  /** Variables that are added; one with the name of a variable of the container replaces it. */
  readonly env?: NonNullable<Container['env']>;
  /** Sources of variables that are added before the container's own `envFrom`, so that the container's win. */
  readonly envFrom?: NonNullable<Container['envFrom']>;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly image?: string;
  /** Replaces the container's resources as a whole. */
  readonly resources?: ResourceRequirements;
}

/** The input of {@link Middleware.podStatus}. */
export interface PodStatusContext {
  readonly pod: Pod;
  /** The status with the changes of the middleware before this one. Must not be changed in place. */
  readonly status: PodStatus;
}

/**
 * Middleware is a named set of hooks on a pod's way. All of its methods are optional; several middleware form a chain and run in its order.
 *
 * Before each sync the agent makes a copy of the pod with the results of `podAddition`, `mounts` and `containerOptions`, and everything
 * below (volumes, probes, the provider) sees that copy; the API object does not change. A hook must therefore return the same for the same
 * pod: a container whose spec differs from the running one is restarted.
 *
 * A hook that throws, returns something invalid, or does not return before its deadline fails the sync of that pod: the pod gets a
 * `FailedSync` Event that names the middleware, and the sync is repeated with a growing delay. A pod that was synced before goes on with
 * the last copy.
 *
 * @example
 * const zone: Middleware = {
 *   name: 'zone',
 *   containerOptions: () => ({ env: [{ name: 'ZONE', value: 'eu-1' }] }),
 * };
 */
export interface Middleware {
  /** The name in Events and logs; unique in a chain. */
  readonly name: string;
  /** The deadline of each call of a hook, ms. Default: 10,000. `providerSync` has the deadline of the provider's `syncPod` instead. */
  readonly deadlineMs?: number;
  /**
   * Changes a copy of the pod, or refuses it. Called before each sync; a refusal of a pod that has been synced before is logged and
   * ignored, because only a pod that has not started may be refused.
   */
  podAddition?(context: PodAdditionContext): PodAdditionResult | Promise<PodAdditionResult>;
  /** Returns mounts that the container gets in addition to its own. */
  mounts?(
    context: ContainerContext,
  ): readonly ExtraMount[] | undefined | Promise<readonly ExtraMount[] | undefined>;
  /** Returns changes of the container. */
  containerOptions?(
    context: ContainerContext,
  ): ContainerOptions | undefined | Promise<ContainerOptions | undefined>;
  /** Runs around the provider's `syncPod`: it calls `next` once, with the request or a changed one, and returns its result or another. */
  providerSync?(
    request: SyncPodRequest,
    next: (request: SyncPodRequest) => Promise<PodSyncResult>,
    signal: AbortSignal,
  ): Promise<PodSyncResult>;
  /**
   * Returns another status for the API server. Must be pure and synchronous; when it fails, the status is sent without its change.
   * Conditions of types that are not the kubelet's belong to their own writers and are not sent.
   */
  podStatus?(context: PodStatusContext): PodStatus | undefined;
}
