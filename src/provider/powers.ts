import type { Duplex, Readable, Writable } from 'node:stream';
import type { Pod } from '../kube/types.ts';
import type { ProviderHooks } from './hooks.ts';
import type { ProviderLogs } from './logs.ts';
import type { ContainerRef } from './refs.ts';
import type { RuntimePodStatus } from './runtime-pod.ts';
import type { PodUsage } from './usage.ts';

/** The streams of an exec or attach; a stream that was not requested is absent. */
export interface TerminalIo {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly tty: boolean;
  /** The terminal sizes in characters, one for each change by the client. */
  readonly resize?: AsyncIterable<{ readonly width: number; readonly height: number }>;
}

/** For runtimes that serve streaming requests themselves: the connection is proxied to these URLs. */
export interface StreamUrls {
  /** @returns a one-time URL of the runtime's streaming server */
  exec(
    container: ContainerRef,
    command: readonly string[],
    io: { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean },
  ): Promise<URL>;
  attach(
    container: ContainerRef,
    io: { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean },
  ): Promise<URL>;
  portForward(podUid: string, ports: readonly number[]): Promise<URL>;
}

/** A provider's decision on a pod before it starts: whether it may run here, and which of its features are ignored. */
export interface ProviderAdmission {
  readonly admit: boolean;
  /** The reason in CamelCase for the pod's `status.reason`; absent for an admitted pod. */
  readonly reason?: string;
  /** What is wrong, where, and what would be right; absent for an admitted pod. */
  readonly message?: string;
  /** One sentence for each feature of an admitted pod that will be ignored; recorded as warning Events. */
  readonly warnings?: readonly string[];
}

/** The health of a runtime; an absent member means that there is no problem. */
export interface RuntimeHealth {
  /** Why pods cannot run. The agent syncs no pod until the error is gone (R36). */
  readonly runtimeError?: string;
  /** Why pods that are not on the host network cannot start (R143). */
  readonly networkError?: string;
}

/** In-place resizes: changes of CPU and memory of running containers. */
export interface PodResizes {
  /** Why a running pod can never be resized from `allocated` to `desired`; `undefined` when it can. Must be pure and synchronous. */
  fault(desired: Pod, allocated: Pod): string | undefined;
  /**
   * True while a running container, or the pod as a whole, has CPU or memory that differs from the spec. `syncPod` reports the resizes that
   * it makes with a result `ResizePodInPlace`. Must be pure and synchronous. Kubelet `IsPodResizeInProgress`.
   */
  inProgress(pod: Pod, observed: RuntimePodStatus): boolean;
}

/**
 * The deadlines of calls to the provider, ms. At the deadline the call's signal aborts, the call fails with `deadline_exceeded`, and it is
 * repeated later; its late result is dropped. `Infinity` means no deadline.
 */
export interface ProviderDeadlines {
  /** The deadline of `syncPod`. Default: 10 min, so that an image can be pulled. */
  readonly syncPod?: number;
  /** The deadline of `killPod`, in addition to the grace period. Default: 2 min, as the kubelet's `runtimeRequestTimeout`. */
  readonly killPod?: number;
  /**
   * The deadline of calls that only read: `listPods`, `getPodStatus`, `listUsage`, `statsSummary`, `resourceMetrics`, `runtimeHealth`.
   * Default: 2 min.
   */
  readonly query?: number;
}

/** The optional methods and properties of a provider. Requests that need an absent one are answered with "not implemented". */
export interface ProviderPowers extends ProviderLogs, ProviderHooks {
  /** The deadlines of calls; absent for the defaults. */
  readonly deadlines?: ProviderDeadlines;
  /**
   * True when the provider records an Event for each failed part of a sync, as the kubelet's container manager does. Default false: the
   * agent records `FailedSync` for the `error` of a resolved `syncPod`. The agent always records a call that rejects.
   */
  readonly recordsEvents?: boolean;
  /** What runs the pods' probes: `provider` when its backend does and reports the outcome in `reported`. Default: the agent. */
  readonly probedBy?: 'agent' | 'provider';
  /**
   * What sets up the pods' volumes: `provider` when pods run elsewhere, so that nothing is mounted or written on this machine. The provider
   * then reads the files of configMap, secret, downwardAPI and projected volumes from `SyncPodRequest.resolution`. Default: the agent.
   */
  readonly volumesBy?: 'agent' | 'provider';
  /** Runs a command in the container and returns its output; for exec probes, hooks and `/run`. */
  execSync?(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }>;
  /** Runs a command with streams; resolves with its exit code. */
  exec?(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number>;
  /** Connects to the streams of the container's main process until the process or the client ends. */
  attach?(container: ContainerRef, io: TerminalIo, signal: AbortSignal): Promise<void>;
  /**
   * Writes a checkpoint of the running container into a new file.
   *
   * @param timeoutSeconds 0 for the provider's default
   */
  checkpoint?(
    container: ContainerRef,
    path: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void>;
  /** Connects `stream` to a port of the pod; resolves when both directions have ended. */
  portForward?(pod: RuntimePodStatus, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
  /** For runtimes that serve streams themselves (CRI); takes precedence over `exec`, `attach` and `portForward`. */
  readonly streamUrls?: StreamUrls;
  /** Registers a listener that is called when a pod changed, ahead of the next relist. The returned function removes it. */
  onPodEvent?(listener: (uid: string) => void): () => void;
  /**
   * Returns the health of the runtime; called every 5 s. Rejects while the runtime does not respond. A provider without it counts as
   * healthy.
   */
  runtimeHealth?(signal: AbortSignal): Promise<RuntimeHealth>;
  /** In-place resizes. When absent, every resize is infeasible. */
  readonly resizes?: PodResizes;
  /** Returns the resource usage of the running containers, by pod; for `/stats/summary` and metrics. */
  listUsage?(signal?: AbortSignal): Promise<readonly PodUsage[]>;
  /** Returns the whole `/stats/summary` (`stats/v1alpha1` Summary) when the backend makes one; takes precedence over `listUsage`. */
  statsSummary?(signal: AbortSignal): Promise<object>;
  /** Returns the whole `/metrics/resource` in the Prometheus text format; takes precedence over `listUsage`. */
  resourceMetrics?(signal: AbortSignal): Promise<string>;
  /**
   * Removes the pod's containers that have ended: all of them, or all but the newest of each name (R42, R64).
   *
   * @param observed the last observed status of the pod, which saves another query
   */
  removeDeadContainers?(podUid: string, all: boolean, observed?: RuntimePodStatus): void;
  /**
   * Decides whether `pod` may run here next to `activePods` (admitted and not ended, without `pod` itself). Part of the admission chain: a
   * rejected pod goes to phase Failed. Must be pure and synchronous.
   */
  admit?(pod: Pod, activePods: readonly Pod[]): ProviderAdmission;
}
