import type { Event, Pod } from '../kube/types.ts';
import type { LogFormat, LogLevel, Output } from '../options/agent/fields.ts';

/** One pod as the agent has it, or its key (`namespace/name`) once it is gone. */
export type PodChange =
  { readonly type: 'set'; readonly pod: Pod } | { readonly type: 'gone'; readonly key: string };

/** A manifest, directory or URL of static pods that cannot be used. */
export interface Problem {
  readonly source: string;
  readonly message: string;
}

/** What `podtender up` or `run` started: an agent and a provider, and for `up` an API server. The composition makes it, the view and the end use it. */
export interface Running {
  /** How to reach the API server; absent with the credentials of a pod. */
  readonly kubeconfigPath?: string;
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

/** What a start gets from the command. */
export interface StartContext {
  /** Gives the start up when it aborts: then it rejects. */
  readonly signal: AbortSignal;
  /** Called with each step of the start that may take long, in words. */
  readonly progress: (message: string) => void;
  /** Takes the lines of the log that would go to stderr, each with its end; absent: stderr does. */
  readonly logTo?: { write(line: string): unknown };
  /** Loads a module by its URL. Code in a bundle cannot load by itself what is not part of the bundle. */
  readonly load: (url: string) => Promise<unknown>;
}

/** What the command line says to `podtender run`. */
export interface RunOptions extends Omit<UpOptions, 'port' | 'leaveRunning'> {
  /** Absent: `$KUBECONFIG`, or the in-cluster credentials. */
  readonly kubeconfig?: string;
}

/** What the command line says to `podtender up`. */
export interface UpOptions {
  readonly dataDir: string;
  /** Directory or file of static pods; absent: none. */
  readonly manifests?: string;
  readonly manifestUrl?: string;
  /** Of the embedded API server; 0: any free one. */
  readonly port: number;
  /** `process`, `memory`, `cri`, `eci`, or a module that makes a provider: a file, a `file:` URL or the name of a package. */
  readonly provider: string;
  /** A file with settings of the provider, for providers that have one (`eci`). */
  readonly providerConfig?: string;
  /** Absent: `--hostname-override`, `$NODE_NAME` or the machine's. */
  readonly nodeName?: string;
  /** Absent: `warn`, or what the kubelet's verbosity means. */
  readonly logLevel?: LogLevel;
  /** Absent: `text`, or what the KubeletConfiguration says. */
  readonly logFormat?: LogFormat;
  readonly output: Output;
  readonly leaveRunning: boolean;
  /** A KubeletConfiguration file. */
  readonly config?: string;
  /** What the command line says beyond these: kubelet flags for `readFlagsOnly`, which override the file. */
  readonly kubeletFlags: readonly string[];
}

export type { LogFormat, LogLevel, Output };
