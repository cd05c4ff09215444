import type { Duplex } from 'node:stream';
import type { Pod, PodStatus } from '../kube/types.ts';
import type { LogOptions } from '../provider/logs.ts';
import type { StreamUrls, TerminalIo } from '../provider/powers.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { RuntimePod } from '../provider/runtime-pod.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { Usage } from '../containers/stats/usage.ts';
import type { ProgramStatus } from './zpages.ts';

/** Takes bytes; a promise holds the one who writes back until it settles. */
export type ByteSink = (bytes: Buffer) => Promise<void> | void;

/** One container's log, as it is asked for. */
export interface LogRequest {
  readonly pod: Pod;
  readonly container: ContainerRef;
  readonly options: LogOptions;
}

/** What came of a command that was run to its end. */
export interface RunResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * What the kubelet API serves, as far as there is something behind it: an absent member is answered as not implemented.
 * `src/agent/server-host.ts` fills it from an agent's engines.
 */
export interface ServerHost {
  readonly nodeName: string;
  /** Pods that are bound to this node (kubelet `GetPods`). */
  pods(): readonly Pod[];
  podByName(namespace: string, name: string): Pod | undefined;
  /** What the agent knows of a pod's status, newer than the API server; absent: the pod's own is the newest. */
  podStatus(uid: string): PodStatus | undefined;
  /** Pods with something that runs, as the runtime tells it. */
  runningPods(): Promise<readonly RuntimePod[]>;
  /** Writes a container's log to `sink` until its end, or with `follow` until the container ended or `signal` aborts. */
  readonly readLog?: (request: LogRequest, sink: ByteSink, signal: AbortSignal) => Promise<void>;
  /** Runs a command to its end. */
  readonly run?: (
    container: ContainerRef,
    command: readonly string[],
    signal: AbortSignal,
  ) => Promise<RunResult>;
  /** Runs a command with live streams; resolves with its exit code. */
  readonly exec?: (
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ) => Promise<number>;
  readonly attach?: (container: ContainerRef, io: TerminalIo, signal: AbortSignal) => Promise<void>;
  readonly portForward?: (podUid: string, port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;
  /** When the runtime serves streams itself; wins over `exec`, `attach` and `portForward`. */
  readonly streamUrls?: StreamUrls;
  /** The sync loop's health: what is wrong, or nothing. */
  syncLoopFault(): string | undefined;
  /** The configuration in force as `/configz` shows it: `KubeletConfiguration` with all defaults. */
  readonly configz?: () => unknown;
  /** What node and pods use. */
  readonly usage?: () => Promise<Usage>;
  /** The whole answer of `/stats/summary`; wins over `usage`. */
  readonly statsSummary?: (signal: AbortSignal) => Promise<object>;
  /** The whole page of `/metrics/resource` in the Prometheus text format; wins over `usage`. */
  readonly resourceMetrics?: (signal: AbortSignal) => Promise<string>;
  /** The agent's own metrics, for `/metrics`. */
  readonly metrics?: () => readonly MetricFamily[];
  /** Metrics of probes, for `/metrics/probes`. */
  readonly probeMetrics?: () => readonly MetricFamily[];
  /** Makes the log as wordy as the kubelet's `--v` of this number would, for `/debug/flags/v`. */
  readonly setVerbosity?: (verbosity: number) => void;
  /** Folder that `/logs/` shows; absent: none. */
  readonly logsRoot?: string;
  /** For `/statusz`. */
  readonly program?: ProgramStatus;
  /** The words of the command line, for `/debug/pprof/cmdline`; absent: not told. */
  readonly commandLine?: readonly string[];
  /** Writes a checkpoint of a container and tells the files; 0 s: as long as the provider thinks right. */
  readonly checkpoint?: (
    container: ContainerRef,
    timeoutSeconds: number,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** Command line settings by name as `/flagz` shows them. */
  readonly flags?: () => Readonly<Record<string, string>>;
}
