import type { Event, Pod } from '../kube/types.ts';
import type { LogFormat, LogLevel, Output } from '../options/agent/fields.ts';

/** A pod in its current state, or its key (`namespace/name`) once it is removed. */
export type PodChange =
  { readonly type: 'set'; readonly pod: Pod } | { readonly type: 'gone'; readonly key: string };

/** A manifest, directory or URL of static pods that cannot be used. */
export interface Problem {
  readonly source: string;
  readonly message: string;
}

/** The started agent and provider, and for `up` the API server. `src/app` creates it; the view and the shutdown use it. */
export interface Running {
  /** Path of the API server's kubeconfig; absent with in-cluster credentials. */
  readonly kubeconfigPath?: string;
  readonly serverUrl: string;
  readonly nodeName: string;
  /** Calls `listener` with every pod now and with each later change; the returned function unsubscribes. */
  watchPods(listener: (change: PodChange) => void): () => void;
  /** Calls `listener` with Kubernetes events as they are recorded. */
  watchEvents(listener: (event: Event) => void): () => void;
  /** Calls `listener` with manifests that cannot be used. */
  watchProblems(listener: (problem: Problem) => void): () => void;
  /**
   * Stops all containers, each within its pod's grace period, and starts no others. The API objects stay.
   *
   * @param onProgress called with the keys of the pods still running, whenever one has stopped
   * @param force when aborted, kills what is still running
   */
  stopPods(onProgress: (stillRunning: readonly string[]) => void, force: AbortSignal): Promise<void>;
  /** Closes agent and API server; running containers keep running. */
  close(): Promise<void>;
  /** Resolves with the reason when it ends by itself. */
  readonly failed: Promise<Error>;
}

/** What the command passes to a start. */
export interface StartContext {
  /** Cancels the start, which then rejects. */
  readonly signal: AbortSignal;
  /** Called with a message for each step of the start that may take long. */
  readonly progress: (message: string) => void;
  /** Receives the log lines that would go to stderr, with line ends; absent: stderr does. */
  readonly logTo?: { write(line: string): unknown };
  /** Loads a module by its URL. Bundled code cannot itself load what is not part of the bundle. */
  readonly load: (url: string) => Promise<unknown>;
}

/** Command line options of `podtender run`. */
export interface RunOptions extends Omit<UpOptions, 'port' | 'leaveRunning' | 'controllers'> {
  /** Absent: `$KUBECONFIG`, or the in-cluster credentials. */
  readonly kubeconfig?: string;
}

/** Command line options of `podtender up`. */
export interface UpOptions {
  readonly dataDir: string;
  /** Directory or file of static pods; absent: none. */
  readonly manifests?: string;
  readonly manifestUrl?: string;
  /** Port of the embedded API server; 0: any free one. */
  readonly port: number;
  /** `process`, `memory`, `cri`, `eci`, or a module with a provider: a file, a `file:` URL or the name of a package. */
  readonly provider: string;
  /** A settings file of the provider, for providers that have one (`eci`). */
  readonly providerConfig?: string;
  /** A file with the registries of images and their credentials. */
  readonly imageRegistries?: string;
  /** Settings files and modules of middleware, in their order. */
  readonly middleware?: readonly string[];
  /** Absent: `--hostname-override`, `$NODE_NAME` or the machine's name. */
  readonly nodeName?: string;
  /** Absent: `warn`, or the level of the kubelet's verbosity. */
  readonly logLevel?: LogLevel;
  /** Absent: `text`, or the KubeletConfiguration's format. */
  readonly logFormat?: LogFormat;
  readonly output: Output;
  readonly leaveRunning: boolean;
  /** As kube-controller-manager's flag: `*`, `name`, `-name`; `none` for no controller. Absent: all. */
  readonly controllers?: readonly string[];
  /** A KubeletConfiguration file. */
  readonly config?: string;
  /** The remaining command line: kubelet flags for `readFlagsOnly`, which override the file. */
  readonly kubeletFlags: readonly string[];
}

export type { LogFormat, LogLevel, Output };
