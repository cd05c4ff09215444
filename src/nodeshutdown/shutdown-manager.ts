import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { terminatedByKubelet } from '../kube/disruption.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, uidOf } from '../kube/names.ts';
import type { KubeObject, Pod, PodStatus } from '../kube/types.ts';
import { groupByPriority, type ShutdownGroup, type ShutdownWindow } from './shutdown.ts';

/** Releases the delay, so that the shutdown continues. */
export type ReleaseShutdown = () => Promise<void> | void;

/** ShutdownSource announces shutdowns of the machine: an init system, a cloud's notice, a test. */
export interface ShutdownSource {
  /**
   * @param listener called with `true` when a shutdown begins, `false` when it was cancelled. @returns a function that removes the listener
   */
  onShutdown(listener: (starting: boolean) => void): () => void;
  /** Delays the shutdown until released; absent: not supported. */
  delay?(): Promise<ReleaseShutdown>;
}

/** Dependencies of ShutdownManager. */
export interface ShutdownDeps {
  readonly clock: Pick<Clock, 'now' | 'timer'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** The node that Events refer to. */
  readonly nodeRef: KubeObject;
  readonly source: ShutdownSource;
  /** Returns the pods that have or may get running containers. */
  activePods(): readonly Pod[];
  /** Kills a pod; resolves when none of its containers runs. */
  killPod(pod: Pod, kill: ShutdownKill): Promise<void>;
  /** Resolves when the pods' volumes are unmounted, while the storage drivers of a later group still run. */
  podsUnmounted?(pods: readonly Pod[], signal: AbortSignal): Promise<void>;
  /** Called when a shutdown begins and when its pods have ended, ms since the epoch; for metrics. */
  noted?(moment: 'start' | 'end', at: number): void;
  /** Updates the node status at the API server at once, so that the node is not ready. */
  syncNodeStatus(): Promise<void>;
}

/** How to kill a pod. */
export interface ShutdownKill {
  readonly gracePeriodSeconds: number;
  readonly statusFn: (status: PodStatus) => PodStatus;
}

/** Reason and message of pods that a shutdown ends. */
const terminated = {
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
} as const;

/**
 * ShutdownManager ends the pods when the machine shuts down: group by group in ascending priority, each within its window (R251).
 * From then on the node is not ready and admits no pods, until the shutdown is cancelled.
 *
 * Follows kubelet `nodeshutdown.managerImpl` and its `podManager`.
 */
export class ShutdownManager {
  readonly #deps: ShutdownDeps;
  readonly #windows: readonly ShutdownWindow[];
  #shuttingDown = false;
  #release: ReleaseShutdown | undefined;

  /** @param windows empty: shutdowns are not watched */
  constructor(deps: ShutdownDeps, windows: readonly ShutdownWindow[]) {
    this.#deps = deps;
    this.#windows = windows;
  }

  /** True while the machine shuts down; no pod is admitted then. */
  get isShuttingDown(): boolean {
    return this.#shuttingDown;
  }

  /** Returns why the node is not ready because of a shutdown; `undefined` without one (R258). */
  fault(): string | undefined {
    return this.#shuttingDown ? 'node is shutting down' : undefined;
  }

  /** Maximum duration of a shutdown, seconds. */
  get totalGraceSeconds(): number {
    return this.#windows.reduce((total, { graceSeconds }) => total + graceSeconds, 0);
  }

  /** Watches for shutdowns until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#windows.length === 0 || signal.aborted) return;
    await this.#delayShutdown();
    const { source, logger } = this.#deps;
    // Serialized: a shutdown that is cancelled is completed first.
    let turn = Promise.resolve();
    const stop = source.onShutdown((starting) => {
      turn = turn
        .then(() => (starting ? this.shutDown() : this.callOff()))
        .catch((reason: unknown) => {
          logger.error('node shutdown failed', { err: messageOf(reason) });
        });
    });
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
    stop();
    await this.#letGo();
  }

  /** Ends all pods, then releases the delay. */
  async shutDown(): Promise<void> {
    const { recorder, nodeRef, clock } = this.#deps;
    recorder.event(nodeRef, 'Normal', 'Shutdown', 'Shutdown manager detected shutdown event');
    this.#shuttingDown = true;
    this.#deps.noted?.('start', clock.now());
    this.#tellNode();
    for (const group of groupByPriority(this.#windows, this.#deps.activePods()))
      if (group.pods.length > 0) await this.#endGroup(group);
    this.#deps.noted?.('end', clock.now());
    await this.#letGo();
  }

  /** Cancels the shutdown: pods are admitted again. Those that were ended stay ended. */
  async callOff(): Promise<void> {
    const { recorder, nodeRef } = this.#deps;
    recorder.event(nodeRef, 'Normal', 'Shutdown', 'Shutdown manager detected shutdown cancellation');
    this.#shuttingDown = false;
    await this.#delayShutdown();
  }

  #tellNode(): void {
    this.#deps.syncNodeStatus().catch((reason: unknown) => {
      this.#deps.logger.warn('the node status could not be updated for the shutdown', {
        err: messageOf(reason),
      });
    });
  }

  /** Ends the pods of a group. Resolves when they have ended and are unmounted, or its window is over. */
  async #endGroup(group: ShutdownGroup): Promise<void> {
    const { clock, logger } = this.#deps;
    const over = new AbortController();
    const done = this.#endAll(group, over.signal);
    const inTime = await new Promise<boolean>((resolve) => {
      const stop = clock.timer(group.graceSeconds * 1000, () => {
        resolve(false);
      });
      void done.then(() => {
        stop();
        resolve(true);
      });
    });
    over.abort();
    if (!inTime) logger.warn('pods did not end within their window', { priority: group.priority });
  }

  async #endAll(group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    await Promise.all(group.pods.map((pod) => this.#end(pod, group.graceSeconds)));
    try {
      if (!signal.aborted) await this.#deps.podsUnmounted?.(group.pods, signal);
    } catch (reason) {
      this.#deps.logger.error('volumes were not unmounted before the next group', { err: messageOf(reason) });
    }
  }

  async #end(pod: Pod, windowSeconds: number): Promise<void> {
    const { logger, clock } = this.#deps;
    const own = pod.spec?.terminationGracePeriodSeconds ?? windowSeconds;
    const statusFn = (status: PodStatus): PodStatus => shutDownStatus(status, pod, clock.now());
    try {
      await this.#deps.killPod(pod, { gracePeriodSeconds: Math.min(windowSeconds, own), statusFn });
    } catch (reason) {
      logger.warn('pod did not end', { pod: keyOf(pod), uid: uidOf(pod), err: messageOf(reason) });
    }
  }

  async #delayShutdown(): Promise<void> {
    try {
      const release = await this.#deps.source.delay?.();
      await this.#letGo();
      this.#release = release;
    } catch (reason) {
      this.#deps.logger.error('a shutdown cannot be delayed', { err: messageOf(reason) });
    }
  }

  async #letGo(): Promise<void> {
    const release = this.#release;
    this.#release = undefined;
    await release?.();
  }
}

/** Returns the status of a pod that a shutdown ended at `now`, ms: Succeeded stays, any other phase becomes Failed (R251). */
export const shutDownStatus = (status: PodStatus, pod: Pod, now: number): PodStatus =>
  terminatedByKubelet(
    { ...status, phase: status.phase === 'Succeeded' ? 'Succeeded' : 'Failed', ...terminated },
    pod,
    { message: terminated.message, now },
  );
