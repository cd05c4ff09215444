import type { PodCondition, PodPhase } from '../kube/types.ts';

/** What a backend that runs whole pods says of a container beyond its state. */
export interface ReportedContainer {
  /** Why a container that does not run yet is waiting, e.g. the backend's image pull. */
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  /** Whether the backend considers it ready; counts while it runs, beside the agent's own readiness probe where there is one. */
  readonly ready?: boolean;
  /** Whether the backend considers it started; as `ready`. */
  readonly started?: boolean;
}

/**
 * What a backend that runs whole pods says of a pod beyond what its containers show. Absent in the status of providers that only have
 * containers.
 */
export interface ReportedStatus {
  /** A terminal phase ends the pod once none of its containers run; others are derived from the containers. */
  readonly phase?: PodPhase;
  /** CamelCase, shown as the pod's `status.reason`. */
  readonly reason?: string;
  readonly message?: string;
  /** `ContainersReady` and `Ready` of status False make the pod unready; others are not taken over. */
  readonly conditions?: readonly PodCondition[];
  /** By container name. */
  readonly containers?: Readonly<Record<string, ReportedContainer>>;
  /** The address of the machine that the pod runs on; default: this node's. */
  readonly hostIp?: string;
}
