import type { LogLevel } from './running.ts';

/** Command line options of `podtender simulate`. */
export interface SimulateOptions {
  readonly nodes: number;
  readonly podsPerNode: number;
  /** The cluster to join; absent: an embedded API server. */
  readonly kubeconfig?: string;
  /** Names of stage sets, and files or directories of `kwok.x-k8s.io` objects. */
  readonly stages: readonly string[];
  readonly seed: string;
  /** A schedule of faults. */
  readonly faults?: string;
  /** Ends the simulation after this time, ms; absent: a signal does. */
  readonly forMs?: number;
  readonly output: 'text' | 'json';
  /** Directory of the embedded server's objects and kubeconfig; absent: nothing is kept. */
  readonly dataDir?: string;
  /** Port of the embedded API server; 0: any free one. */
  readonly port: number;
  /** Prefix of the nodes' names. */
  readonly nodePrefix: string;
  /** Namespace of the pods that are created. */
  readonly namespace: string;
  /** Address of the nodes' kubelet APIs; absent: one of each node on this machine, or the machine's own. */
  readonly address?: string;
  /** Port of the nodes' kubelet APIs; 0: any free one. */
  readonly kubeletPort: number;
  /** Port of the metrics on 127.0.0.1; absent: not served. */
  readonly metricsPort?: number;
  /** The number of parts of the nodes, which processes share; absent: this process runs all nodes. */
  readonly shards?: number;
  /** How long the parts of a process that was killed wait for another, ms. */
  readonly shardLeaseMs: number;
  readonly logLevel: LogLevel;
}
