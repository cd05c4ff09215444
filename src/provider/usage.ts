/** What one running container uses. Bytes, nano-seconds and instants in ms since the epoch; an absent member is not known. */
export interface ContainerUsage {
  /** `type://id` */
  readonly id: string;
  readonly name: string;
  /** When it was started; absent: what the agent knows of it counts. */
  readonly startedAt?: number;
  /** When it was measured. */
  readonly at: number;
  /** Processor time used since the start, ns. */
  readonly cpuNanos?: number;
  /** Processor use at this time, in billionths of a core. */
  readonly cpuNanoCores?: number;
  readonly workingSetBytes?: number;
  readonly memoryBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly swapBytes?: number;
  /** More swap that it may use. */
  readonly swapAvailableBytes?: number;
  /** Of the container's writable layer. */
  readonly rootfsBytes?: number;
  readonly rootfsInodes?: number;
}

/** What the running containers of one pod use. */
export interface PodUsage {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerUsage[];
}
