import type { Duplex, Readable, Writable } from 'node:stream';
import type { Pod } from '../kube/types.ts';
import type { ProviderHooks } from './hooks.ts';
import type { ProviderLogs } from './logs.ts';
import type { ContainerRef } from './refs.ts';
import type { RuntimePodStatus } from './runtime-pod.ts';
import type { PodUsage } from './usage.ts';

/** The streams of an exec or attach; an absent one was not asked for. */
export interface TerminalIo {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly tty: boolean;
  /** Terminal sizes in characters, as the client changes them. */
  readonly resize?: AsyncIterable<{ readonly width: number; readonly height: number }>;
}

/** Where a streaming request is served by the runtime itself: it is proxied byte by byte. */
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

/** A provider's word on a pod before it starts: may it run here, and what of it will not be kept. */
export interface ProviderAdmission {
  readonly admit: boolean;
  /** CamelCase, shown as the pod's `status.reason`; absent: admitted. */
  readonly reason?: string;
  /** What was wrong, where, and what would be right; absent: admitted. */
  readonly message?: string;
  /** What an admitted pod asks for and will not get, one sentence each; shown as warning events. */
  readonly warnings?: readonly string[];
}

/** What a runtime says of itself; an absent member means that the condition holds. */
export interface RuntimeHealth {
  /** Pods cannot run, and why: the agent does nothing until it is well again (R36). */
  readonly runtimeError?: string;
  /** Pods with a network of their own cannot start, and why (R143). */
  readonly networkError?: string;
}

/** Changing CPU and memory of containers that run. */
export interface PodResizes {
  /** Why a pod can never be brought from `allocated` to `desired` while it runs; absent: it can. Pure and at once. */
  fault(desired: Pod, allocated: Pod): string | undefined;
  /**
   * Do running containers, or the pod as a whole, still have other CPU or memory than the spec says? What of it is done by
   * `syncPod` is told by a result `ResizePodInPlace`. Pure and at once; kubelet `IsPodResizeInProgress`.
   */
  inProgress(pod: Pod, observed: RuntimePodStatus): boolean;
}

/**
 * How long the agent waits for an answer of the provider, ms. When the time is over the call's signal aborts, the call counts as failed with
 * `deadline_exceeded`, and it is made again later; what the late call still returns is dropped. `Infinity`: no deadline.
 */
export interface ProviderDeadlines {
  /** Of `syncPod`. Default: 10 min, so that an image can be fetched. */
  readonly syncPod?: number;
  /** Of `killPod`, beyond the grace period. Default: 2 min, as the kubelet's `runtimeRequestTimeout`. */
  readonly killPod?: number;
  /** Of what only looks: `listPods`, `getPodStatus`, `listUsage`, `statsSummary`, `resourceMetrics`, `runtimeHealth`. Default: 2 min. */
  readonly query?: number;
}

/** Abilities that a provider may have; an absent one is answered as not implemented. */
export interface ProviderPowers extends ProviderLogs, ProviderHooks {
  /** How long the agent waits for answers; absent: the defaults. */
  readonly deadlines?: ProviderDeadlines;
  /**
   * The provider records an Event for each part of a sync that fails, as the kubelet's container manager does. Default false: the agent
   * records `FailedSync` for an `error` that `syncPod` resolves with. A call that rejects is always recorded by the agent.
   */
  readonly recordsEvents?: boolean;
  /** Who runs the pods' probes: `provider` when its backend does and reports the outcome (`reported`). Default: the agent. */
  readonly probedBy?: 'agent' | 'provider';
  /**
   * Who makes the pods' volumes: `provider` when pods run elsewhere, so that nothing is mounted or written on this machine. Files made from
   * objects are read from `SyncPodRequest.resolution` then. Default: the agent.
   */
  readonly volumesBy?: 'agent' | 'provider';
  /** Runs a command in the container and collects what it prints; for exec probes, hooks and `/run`. */
  execSync?(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }>;
  /** Runs a command with live streams; resolves with its exit code. */
  exec?(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number>;
  /** Joins the streams of the container's main process until it or the client ends. */
  attach?(container: ContainerRef, io: TerminalIo, signal: AbortSignal): Promise<void>;
  /**
   * Writes the state of the running container into a new file.
   *
   * @param timeoutSeconds 0: as long as the provider thinks right
   */
  checkpoint?(
    container: ContainerRef,
    path: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void>;
  /** Joins `stream` to a port of the pod; resolves when both directions have ended. */
  portForward?(pod: RuntimePodStatus, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
  /** When the runtime serves streams itself (CRI); wins over `exec`, `attach` and `portForward`. */
  readonly streamUrls?: StreamUrls;
  /** Tells that something about a pod changed, ahead of the next relist. The returned function ends that. */
  onPodEvent?(listener: (uid: string) => void): () => void;
  /** Asked every 5 s; rejects while the runtime does not answer. A provider without it counts as well. */
  runtimeHealth?(signal: AbortSignal): Promise<RuntimeHealth>;
  /** Absent: a pod keeps the size that it came with (every resize is infeasible). */
  readonly resizes?: PodResizes;
  /** What the running containers use, by pod; for `/stats/summary` and metrics. */
  listUsage?(signal?: AbortSignal): Promise<readonly PodUsage[]>;
  /** The whole answer of `/stats/summary` (`stats/v1alpha1` Summary), where the backend makes one; wins over `listUsage`. */
  statsSummary?(signal: AbortSignal): Promise<object>;
  /** The whole page of `/metrics/resource` in the Prometheus text format; wins over `listUsage`. */
  resourceMetrics?(signal: AbortSignal): Promise<string>;
  /**
   * Removes containers of the pod that have ended: all of them, or those beyond the newest of each name (R42, R64).
   *
   * @param observed the pod as it was last seen, so that nobody has to look again
   */
  removeDeadContainers?(podUid: string, all: boolean, observed?: RuntimePodStatus): void;
  /**
   * May `pod` run here, next to `activePods` (admitted and not ended, `pod` itself left out)? Part of the admission chain: a
   * rejected pod fails for good. Pure and at once.
   */
  admit?(pod: Pod, activePods: readonly Pod[]): ProviderAdmission;
}
