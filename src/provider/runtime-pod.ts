import type { ReportedStatus } from './reported.ts';

/** State of a container or, for a sandbox, `running` (ready) and `exited` (not ready). */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** A container as a listing shows it. */
export interface RuntimeContainer {
  /** `type://id`, e.g. `containerd://4f…` */
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  readonly image?: string;
  readonly imageId?: string;
  /**
   * Fingerprint of the container's spec when it was created. The kubelet's container manager compares it with the spec of today and replaces
   * a container that differs. The agent only passes it on: a provider that compares specs in another way leaves it out.
   */
  readonly hash?: number;
  /** ms since the epoch */
  readonly createdAt?: number;
  readonly podSandboxId?: string;
}

/** A pod as a listing shows it: what runs, or ran, under one UID. Kubelet's `container.Pod`. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** ms since the epoch, of the oldest sandbox or container */
  readonly createdAt?: number;
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxes: readonly RuntimeContainer[];
}

/** Resources that the runtime has applied: cpu in milli-cores, memory in bytes. */
export interface RuntimeContainerResources {
  readonly cpuRequest?: number;
  readonly cpuLimit?: number;
  readonly memoryRequest?: number;
  readonly memoryLimit?: number;
}

/** One container instance in detail. Kubelet's `container.Status`. */
export interface RuntimeContainerStatus {
  /** `type://id` */
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  /** Instants in ms since the epoch (fractions allowed); absent: not yet. */
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode: number;
  readonly image: string;
  readonly imageId: string;
  readonly imageRef: string;
  readonly imageRuntimeHandler?: string;
  /** As {@link RuntimeContainer.hash}; absent: the provider compares specs in another way. */
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

/** One sandbox in detail. */
export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
  readonly attempt: number;
  /** ms since the epoch (fractions allowed) */
  readonly createdAt: number;
  readonly networkMode: 'POD' | 'NODE' | 'CONTAINER';
  /** Absent: the runtime reports no network section, which differs from an empty ip. */
  readonly network?: { readonly ip: string; readonly additionalIps?: readonly string[] };
}

/** What the runtime knows of a pod: every instance per name newest first, sandboxes newest first. Kubelet's `container.PodStatus`. */
export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly ips: readonly string[];
  readonly containerStatuses: readonly RuntimeContainerStatus[];
  /** Those of `containerStatuses` that belong to the active sandbox. */
  readonly activeContainerStatuses: readonly RuntimeContainerStatus[];
  readonly sandboxStatuses: readonly RuntimeSandboxStatus[];
  /** When it was observed, ms since the epoch. */
  readonly observedAt?: number;
  /** What a backend that runs whole pods says besides; absent: containers and sandboxes say all. */
  readonly reported?: ReportedStatus;
}

/**
 * The status of a pod of which the runtime knows nothing: no container, no sandbox, no address.
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
