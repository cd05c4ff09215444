/** The resource usage of one running container. Sizes are bytes, times are ms since the epoch; an absent member is unknown. */
export interface ContainerUsage {
  /** `type://id` */
  readonly id: string;
  readonly name: string;
  /** When the container was started; absent for the time that the agent knows. */
  readonly startedAt?: number;
  /** When the usage was measured. */
  readonly at: number;
  /** The CPU time used since the start, ns. */
  readonly cpuNanos?: number;
  /** The current CPU usage, in billionths of a core. */
  readonly cpuNanoCores?: number;
  readonly workingSetBytes?: number;
  readonly memoryBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly swapBytes?: number;
  /** The swap that the container may still use. */
  readonly swapAvailableBytes?: number;
  /** The size of the container's writable layer. */
  readonly rootfsBytes?: number;
  readonly rootfsInodes?: number;
}

/** The resource usage of the running containers of one pod. */
export interface PodUsage {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerUsage[];
}
