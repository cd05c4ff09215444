import type { PodCondition, PodPhase } from '../kube/types.ts';

/** What a backend that runs whole pods reports about a container in addition to its state. */
export interface ReportedContainer {
  /** Why a container that has not started is waiting, e.g. for the backend's image pull. */
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  /**
   * Whether the backend considers the container ready. Applies while it runs, in addition to the agent's readiness probe if there is one.
   */
  readonly ready?: boolean;
  /** Whether the backend considers the container started. Applies like `ready`. */
  readonly started?: boolean;
}

/**
 * What a backend that runs whole pods reports about a pod in addition to its containers. Absent for providers that only know containers.
 */
export interface ReportedStatus {
  /** A terminal phase ends the pod once none of its containers run. Other phases are ignored; the containers decide. */
  readonly phase?: PodPhase;
  /** The pod's `status.reason`, in CamelCase. */
  readonly reason?: string;
  readonly message?: string;
  /**
   * `ContainersReady` and `Ready` with status False make the pod unready, `DisruptionTarget` with status True is passed on; other
   * conditions are ignored.
   */
  readonly conditions?: readonly PodCondition[];
  /** The reports about containers, by name. */
  readonly containers?: Readonly<Record<string, ReportedContainer>>;
  /** The address of the machine on which the pod runs. Default: this node's. */
  readonly hostIp?: string;
}
