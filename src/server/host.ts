import type { Duplex } from 'node:stream';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { LogOptions } from '../provider/logs.ts';
import type { StreamUrls, TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { Usage } from '../containers/stats/usage.ts';
import type { ProgramStatus } from '../kube/zpages.ts';

/** Receives bytes; the writer waits for a returned promise before it writes more. */
export type ByteSink = (bytes: Buffer) => Promise<void> | void;

/** A request for one container's log. */
export interface LogRequest {
  readonly pod: Pod;
  readonly container: ContainerRef;
  readonly options: LogOptions;
}

/** Result of a command that ran to completion. */
export interface RunResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * ServerHost is the backend of the kubelet API. An absent optional member is answered as not implemented. `src/agent/server-host.ts`
 * implements it with an agent's engines.
 */
export interface ServerHost {
  readonly nodeName: string;
  /** Returns the pods bound to this node (kubelet `GetPods`). */
  pods(): readonly Pod[];
  podByName(namespace: string, name: string): Pod | undefined;
  /** Returns the agent's status of a pod, which is newer than the API server's; undefined when the pod object's own is the newest. */
  podStatus(uid: string): PodStatus | undefined;
  /** Returns the pods with running containers, as the runtime reports them. */
  runningPods(): Promise<readonly RuntimePod[]>;
  /** Writes a container's log to `sink` until its end, or with `follow` until the container has ended or `signal` aborts. */
  readonly readLog?: (request: LogRequest, sink: ByteSink, signal: AbortSignal) => Promise<void>;
  /** Runs a command to completion. */
  readonly run?: (
    container: ContainerRef,
    command: readonly string[],
    signal: AbortSignal,
  ) => Promise<RunResult>;
  /** Runs a command with live streams; resolves to its exit code. */
  readonly exec?: (
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ) => Promise<number>;
  readonly attach?: (container: ContainerRef, io: TerminalIo, signal: AbortSignal) => Promise<void>;
  readonly portForward?: (podUid: string, port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;
  /** Set when the runtime serves streams itself; takes precedence over `exec`, `attach` and `portForward`. */
  readonly streamUrls?: StreamUrls;
  /** Returns what is wrong with the sync loop; undefined when healthy. */
  syncLoopFault(): string | undefined;
  /** Returns the effective configuration as `/configz` shows it: `KubeletConfiguration` with all defaults. */
  readonly configz?: () => unknown;
  /** Returns the resource usage of node and pods. */
  readonly usage?: () => Promise<Usage>;
  /** Returns the whole body of `/stats/summary`; takes precedence over `usage`. */
  readonly statsSummary?: (signal: AbortSignal) => Promise<object>;
  /** Returns the whole page of `/metrics/resource` in the Prometheus text format; takes precedence over `usage`. */
  readonly resourceMetrics?: (signal: AbortSignal) => Promise<string>;
  /** Returns the agent's own metrics, for `/metrics`. */
  readonly metrics?: () => readonly MetricFamily[];
  /** Returns the metrics of probes, for `/metrics/probes`. */
  readonly probeMetrics?: () => readonly MetricFamily[];
  /** Sets the log level that corresponds to this kubelet `--v`, for `/debug/flags/v`. */
  readonly setVerbosity?: (verbosity: number) => void;
  /** Folder that `/logs/` serves; absent: none. */
  readonly logsRoot?: string;
  /** For `/statusz`. */
  readonly program?: ProgramStatus;
  /** Command line arguments, for `/debug/pprof/cmdline`; absent: not served. */
  readonly commandLine?: readonly string[];
  /** Writes a checkpoint of a container and returns the files; a timeout of 0 s leaves it to the provider. */
  readonly checkpoint?: (
    container: ContainerRef,
    timeoutSeconds: number,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** Returns the command line settings by name as `/flagz` shows them. */
  readonly flags?: () => Readonly<Record<string, string>>;
}
