import type { Event, Pod } from '../kube/types.ts';
import type { LogLevel, Output } from '../options/agent/fields.ts';

/** One pod as the agent has it, or its key (`namespace/name`) once it is gone. */
export type PodChange =
  { readonly type: 'set'; readonly pod: Pod } | { readonly type: 'gone'; readonly key: string };

/** A manifest, directory or URL of static pods that cannot be used. */
export interface Problem {
  readonly source: string;
  readonly message: string;
}

/** What `podtender up` started: an API server, the agent and a provider. The composition makes it, the view and the end use it. */
export interface Running {
  readonly kubeconfigPath: string;
  readonly serverUrl: string;
  readonly nodeName: string;
  /** Tells every pod now and each change after; the returned function ends that. */
  watchPods(listener: (change: PodChange) => void): () => void;
  /** Tells Kubernetes events as they are recorded. */
  watchEvents(listener: (event: Event) => void): () => void;
  /** Tells manifests that cannot be used. */
  watchProblems(listener: (problem: Problem) => void): () => void;
  /**
   * Stops all containers, each within its pod's grace period, and starts no others. The API objects stay.
   *
   * @param onProgress called with the keys of the pods that still run, whenever one has stopped
   * @param force aborted: what still runs is killed at once
   */
  stopPods(onProgress: (stillRunning: readonly string[]) => void, force: AbortSignal): Promise<void>;
  /** Ends agent and API server; containers that run go on running. */
  close(): Promise<void>;
  /** Resolves with the reason when it ends by itself. */
  readonly failed: Promise<Error>;
}

/** What the command line says to `podtender up`. */
export interface UpOptions {
  readonly dataDir: string;
  /** Directory or file of static pods; absent: none. */
  readonly manifests?: string;
  readonly manifestUrl?: string;
  /** Of the embedded API server; 0: any free one. */
  readonly port: number;
  readonly provider: 'process' | 'memory' | 'cri';
  /** Absent: `--hostname-override`, `$NODE_NAME` or the machine's. */
  readonly nodeName?: string;
  /** Absent: `warn`, or what the kubelet's verbosity means. */
  readonly logLevel?: LogLevel;
  readonly output: Output;
  readonly leaveRunning: boolean;
  /** A KubeletConfiguration file. */
  readonly config?: string;
  /** What the command line says beyond these: kubelet flags for `readFlagsOnly`, which override the file. */
  readonly kubeletFlags: readonly string[];
}

export type { LogLevel };
export type { Output };

/** What the command line says to `podtender run`. */
export interface RunOptions extends Omit<UpOptions, 'port' | 'leaveRunning'> {
  /** Absent: `$KUBECONFIG`, or the in-cluster credentials. */
  readonly kubeconfig?: string;
}
