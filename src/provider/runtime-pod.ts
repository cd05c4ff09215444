import type { ReportedStatus } from './reported.ts';

/** The state of a container. For a sandbox in a listing: `running` (ready) or `exited` (not ready). */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** A container in a listing. */
export interface RuntimeContainer {
  /** `type://id`, e.g. `containerd://4f…` */
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  readonly image?: string;
  readonly imageId?: string;
  /**
   * The fingerprint of the container's spec at its creation. The kubelet's container manager compares it with the current spec and replaces
   * a container that differs. The agent only passes it on: a provider that compares specs in another way omits it.
   */
  readonly hash?: number;
  /** ms since the epoch */
  readonly createdAt?: number;
  readonly podSandboxId?: string;
}

/** A pod in a listing: everything that runs or ran under one UID. Kubelet's `container.Pod`. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** When the oldest sandbox or container was created, ms since the epoch. */
  readonly createdAt?: number;
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxes: readonly RuntimeContainer[];
}

/** The resources that the runtime has applied: CPU in milli-cores, memory in bytes. */
export interface RuntimeContainerResources {
  readonly cpuRequest?: number;
  readonly cpuLimit?: number;
  readonly memoryRequest?: number;
  readonly memoryLimit?: number;
}

/** The status of one container instance. Kubelet's `container.Status`. */
export interface RuntimeContainerStatus {
  /** `type://id` */
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  /** Times in ms since the epoch (fractions allowed); absent until the event has occurred. */
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode: number;
  readonly image: string;
  readonly imageId: string;
  readonly imageRef: string;
  readonly imageRuntimeHandler?: string;
  /** See {@link RuntimeContainer.hash}; absent when the provider compares specs in another way. */
  readonly hash?: number;
  /** 0 for the first instance of the container, 1 for the second, and so on. */
  readonly restartCount: number;
  readonly reason: string;
  readonly message: string;
  readonly resources?: RuntimeContainerResources;
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    readonly supplementalGroups?: readonly number[];
  };
  readonly mounts?: readonly {
    readonly containerPath: string;
    readonly readonly?: boolean;
    readonly recursiveReadOnly?: boolean;
  }[];
  readonly stopSignal?: string;
  readonly podSandboxId?: string;
}

/** The status of one sandbox. */
export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
  readonly attempt: number;
  /** ms since the epoch (fractions allowed) */
  readonly createdAt: number;
  readonly networkMode: 'POD' | 'NODE' | 'CONTAINER';
  /** Absent when the runtime reports no network section, which differs from an empty `ip`. */
  readonly network?: { readonly ip: string; readonly additionalIps?: readonly string[] };
}

/** The runtime status of a pod, with the instances of each container and the sandboxes newest first. Kubelet's `container.PodStatus`. */
export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly ips: readonly string[];
  readonly containerStatuses: readonly RuntimeContainerStatus[];
  /** The members of `containerStatuses` in the active sandbox. */
  readonly activeContainerStatuses: readonly RuntimeContainerStatus[];
  readonly sandboxStatuses: readonly RuntimeSandboxStatus[];
  /** When the status was observed, ms since the epoch. */
  readonly observedAt?: number;
  /** What a backend that runs whole pods reports in addition; absent when it reports nothing more. */
  readonly reported?: ReportedStatus;
}

/**
 * Makes the status of a pod that the runtime does not know: no container, no sandbox, no address.
 *
 * @example
 * async getPodStatus(ref) {
 *   return this.#statuses.get(ref.uid) ?? emptyPodStatus(ref);
 * }
 */
export const emptyPodStatus = ({
  uid,
  name,
  namespace,
}: Pick<RuntimePodStatus, 'uid' | 'name' | 'namespace'>): RuntimePodStatus => ({
  uid,
  name,
  namespace,
  ips: [],
  containerStatuses: [],
  activeContainerStatuses: [],
  sandboxStatuses: [],
});
