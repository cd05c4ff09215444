import { filter, map, merge, type Observable } from 'rxjs';
import type { ApiClient } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import { type Clock, systemClock, steadyNow } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import type { PodUpdate } from '../config/pod-update.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ResourceKeeper } from '../kube/resources/pod-resources.ts';
import { uidOf } from '../kube/names.ts';
import type { Node, Pod, PodStatus } from '../kube/types.ts';
import type { PodLifecycleEvent } from '../pleg/diff.ts';
import type { PodWorkers } from '../podworkers/pod-workers.ts';
import type { Middleware } from '../provider/middleware.ts';
import { requireProvider } from '../provider/require-provider.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { StatusManager, StatusTelling } from '../status/status-manager.ts';
import { buildEngines, type Engines } from './engines.ts';
import type { CopyKeeper } from './copy-files.ts';
import { MiddlewareChain } from './middleware.ts';
import type { PodHost } from './pod-host.ts';
import { checkRegistry, type RegistryOptions, withRegistry } from './registry.ts';
import { type ProbeUpdate, probeUpdates } from './probing.ts';
import { SyncLoop, ticks } from './sync-loop.ts';

/** The periods of the sync loop; the defaults are the kubelet's. */
export interface PodsControllerPeriods {
  /** The time between two syncs of an unchanged pod, ms (kubelet `syncFrequency`). */
  readonly resyncMs: number;
  readonly syncTickMs: number;
  readonly housekeepingMs: number;
  readonly relistMs: number;
}

export const podsControllerPeriods: PodsControllerPeriods = {
  resyncMs: 60_000,
  syncTickMs: 1000,
  housekeepingMs: 2000,
  relistMs: 1000,
};

/** Returns the last observed node. {@link NodeController} implements it. */
export interface NodeGetter {
  /** The node; `undefined` while it is unknown. */
  getNode(): Node | undefined;
}

/** Tracks which pod sources were seen. `SourcesReady` implements it. */
export interface SourcesSeen {
  /** Records that an update of the source was handled; absent when that is recorded elsewhere. */
  addSource?(source: string): void;
  /** True once every source has delivered its first pods; never false again. No pod is deleted before. */
  allReady(): boolean;
}

/** SyncHandler is called by the sync loop for each kind of change. {@link PodsController} implements it. Follows kubelet `SyncHandler`. */
export interface SyncHandler {
  handlePodAdditions(pods: readonly Pod[]): Promise<void>;
  handlePodUpdates(pods: readonly Pod[]): Promise<void>;
  handlePodRemoves(pods: readonly Pod[]): Promise<void>;
  handlePodReconcile(pods: readonly Pod[]): Promise<void>;
  handlePodSyncs(pods: readonly Pod[]): void;
  /** Syncs the pod with this UID. Returns false when no such pod is desired. */
  handlePodSyncByUID(uid: string): boolean;
  handlePodCleanups(): Promise<void>;
}

/** The periods of the controller, like {@link PodsControllerPeriods}, with the names of the reference framework. */
export interface FrameworkOptions {
  /** The time between two syncs of an unchanged pod, ms; here also `periods.resyncMs`. Default: 60,000. */
  readonly syncFrequency?: number;
}

/** The options of {@link PodsController}. */
export interface PodsControllerOptions {
  /** Restricts the agent to pods of this namespace; absent for all namespaces. */
  readonly namespace?: string;
  readonly nodeName: string;
  /** The node's addresses, primary first; also the addresses of hostNetwork pods. */
  readonly nodeIP: string | readonly string[];
  /** The merged updates of all pod sources (`PodConfig.updates`). */
  readonly configUpdates: Observable<PodUpdate>;
  /** Tracks which sources were handled (`SourcesReady`); no pod is deleted before all were. */
  readonly sourcesReady: SourcesSeen;
  /** The API client. When absent the agent is standalone: static pods run and no status is written (R25). */
  readonly kubeClient?: ApiClient;
  /** The objects of the node's pod informer (`Informer.knownObjects`); with them, sending a status takes half the parsing. */
  readonly knownPods?: KnownObjects<Pod>;
  /** Returns the last observed node. */
  readonly nodeGetter: (() => Node | undefined) | NodeGetter;
  /** The registries for images, with their credentials; absent: image names are used as the pods state them. */
  readonly registry?: RegistryOptions;
  readonly framework?: FrameworkOptions;
  readonly eventRecorder?: EventRecorder;
  /** Stores the pods' allocated resources across restarts of the agent; absent: they are lost at a restart. */
  readonly allocations?: ResourceKeeper;
  /** What pods use on this node besides their containers: volumes, cgroups, secrets. Absent: nothing. */
  readonly host?: Partial<PodHost>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly periods?: Partial<PodsControllerPeriods>;
  /**
   * The time between the deletion of a mirror pod and its next creation, ms. Default 0, as in the kubelet: a write to etcd takes longer
   * than `kubectl delete` needs from its GET to its watch. With a server that writes immediately, kubectl would find the new mirror pod and
   * wait for its deletion.
   */
  readonly mirrorPauseMs?: number;
  /** Optional differences from the way in which the kubelet sends statuses. */
  readonly statuses?: StatusTelling;
  /** Traces the steps of pods and their calls to the provider. */
  readonly tracer?: Tracer;
  /** Hooks on the pods' way, in their order; see {@link Middleware}. */
  readonly middleware?: readonly Middleware[];
  /** Keeps the copies that middleware made of pods across restarts ({@link CopyFiles}); absent: they are lost at a restart. */
  readonly copies?: CopyKeeper;
}

/**
 * The options of {@link PodsController}, under the name of the reference framework.
 *
 * | reference | here |
 * |---|---|
 * | `Namespace`, `NodeName`, `NodeIP` | `namespace`, `nodeName`, `nodeIP` |
 * | `ConfigCh` | `configUpdates` |
 * | `FrameworkCfg` | `framework` |
 * | `RegistryCfg` | `registry` |
 * | `KubeClient`, `NodeGetter`, `EventRecorder`, `SourcesReady` | `kubeClient`, `nodeGetter`, `eventRecorder`, `sourcesReady` |
 */
export type PodsControllerConfig = PodsControllerOptions;

/** An input of the sync loop. */
export type LoopInput =
  | { readonly type: 'config'; readonly update: PodUpdate }
  | { readonly type: 'pleg'; readonly event: PodLifecycleEvent }
  | { readonly type: 'probe'; readonly update: ProbeUpdate }
  | { readonly type: 'sync' }
  | { readonly type: 'housekeeping' };

const silentRecorder: EventRecorder = { event: () => undefined };

/**
 * PodsController runs the pods of one node: it takes the updates of the pod sources, drives one worker per pod, and sends the statuses to
 * the API server. Register a provider, then call {@link run}.
 *
 * Follows the kubelet's sync loop (R35…R80).
 *
 * @example
 * const controller = new PodsController({ nodeName, nodeIP, configUpdates: config.updates, sourcesReady, nodeGetter, kubeClient: client });
 * controller.registerProvider(new Rooms());
 * await controller.run(signal);
 */
export class PodsController implements SyncHandler {
  readonly #options: PodsControllerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #periods: PodsControllerPeriods;
  readonly #ready = new Latch();
  readonly #stop = new AbortController();
  #engines: Engines | undefined;
  #loop: SyncLoop<LoopInput> | undefined;
  #running: Promise<void> | undefined;

  constructor(options: PodsControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    const { syncFrequency } = options.framework ?? {};
    this.#periods = {
      ...podsControllerPeriods,
      ...(syncFrequency !== undefined && { resyncMs: syncFrequency }),
      ...options.periods,
    };
    if (options.registry) checkRegistry(options.registry);
  }

  /**
   * Sets the provider that runs the pods. Call it once, before {@link run}.
   *
   * @param more members of the host that can only be made after the provider, in addition to {@link PodsControllerOptions.host}
   * @throws {AgentError} `already_exists` on a second call, `invalid_argument` naming what the object lacks to be a provider
   */
  registerProvider(provider: PodProvider, more: Partial<PodHost> = {}): void {
    if (this.#engines)
      throw new AgentError('already_exists', 'a provider is registered already; a controller has one');
    requireProvider(provider);
    const { nodeIP, nodeGetter, host, eventRecorder, random, registry, middleware, ...rest } = this.#options;
    const { kubeClient } = rest;
    const deps = { clock: this.#clock, logger: this.#logger };
    this.#engines = buildEngines({
      ...rest,
      ...(middleware && middleware.length > 0 && { middleware: new MiddlewareChain(middleware, deps) }),
      nodeIPs: typeof nodeIP === 'string' ? [nodeIP] : nodeIP,
      recorder: eventRecorder ?? silentRecorder,
      clock: this.#clock,
      random: random ?? systemRandom,
      logger: this.#logger,
      periods: this.#periods,
      host: { ...host, ...more },
      nodeGetter: typeof nodeGetter === 'function' ? nodeGetter : () => nodeGetter.getNode(),
      provider: registry ? withRegistry(provider, registry, { kubeClient, logger: this.#logger }) : provider,
    });
  }

  /** Resolves when the first pods of every source were handled, so that the node may become Ready. */
  get ready(): Promise<void> {
    return this.#ready.wait();
  }

  /** Runs until `signal` aborts or {@link stop} is called. Containers keep running afterwards. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Stops {@link run} and waits for its end. Containers keep running. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  getStatusManager(): StatusManager {
    return this.engines.statusManager;
  }

  /** The queries about the pods' workers (R120). */
  getPodStateProvider(): PodWorkers {
    return this.engines.podWorkers;
  }

  /**
   * Whether a container of the pod may run or be started. True from the pod's first update on, and for unknown pods until all sources were
   * seen; false once its worker has terminated.
   *
   * Follows kubelet `PodCouldHaveRunningContainers`.
   */
  podCouldHaveRunningContainers(pod: Pod): boolean {
    return this.engines.podWorkers.couldHaveRunningContainers(uidOf(pod));
  }

  /**
   * Whether everything that the pod used on the node is released, so that its object may be deleted. True once its worker has terminated
   * and cleaned up (volumes, cgroups, user IDs) and `status` shows no running container; for a pod without a worker, once all sources were
   * seen. Dead containers and their logs may still exist.
   *
   * @param status the last reported status of the pod
   *
   * Follows kubelet `PodResourcesAreReclaimed`.
   */
  podResourcesAreReclaimed(pod: Pod, status: PodStatus): boolean {
    const { podWorkers } = this.engines;
    const uid = uidOf(pod);
    if (podWorkers.couldHaveRunningContainers(uid)) return false;
    const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
    const containers = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
    return !containers.some(({ state }) => state?.running) && podWorkers.shouldPodBeFinished(uid);
  }

  /** The composed components, for serving them over HTTP. @throws {AgentError} before a provider is registered */
  get engines(): Engines {
    if (!this.#engines)
      throw new AgentError('failed_precondition', 'no provider is registered: call registerProvider first');
    return this.#engines;
  }

  /** The composed components; `undefined` while no provider is registered. */
  get startedEngines(): Engines | undefined {
    return this.#engines;
  }

  /** The time between two syncs of an unchanged pod, ms. */
  get resyncMs(): number {
    return this.#periods.resyncMs;
  }

  /** The times of the sync loop's last iteration (R37). */
  get lastIteration(): { readonly startedAt: number; readonly endedAt?: number } | undefined {
    return this.#loop?.lastIteration;
  }

  handlePodAdditions(pods: readonly Pod[]): Promise<void> {
    return this.engines.syncHandler.handlePodAdditions(pods);
  }

  handlePodUpdates(pods: readonly Pod[]): Promise<void> {
    return this.engines.syncHandler.handlePodUpdates(pods);
  }

  handlePodRemoves(pods: readonly Pod[]): Promise<void> {
    return this.engines.syncHandler.handlePodRemoves(pods);
  }

  handlePodReconcile(pods: readonly Pod[]): Promise<void> {
    return this.engines.syncHandler.handlePodReconcile(pods);
  }

  handlePodSyncs(pods: readonly Pod[]): void {
    this.engines.syncHandler.handlePodSyncs(pods);
  }

  handlePodCleanups(): Promise<void> {
    return this.engines.housekeeping.handlePodCleanups();
  }

  /**
   * Creates the mirror pods of static pods that were synced before the node was registered. Call it once the node is registered.
   *
   * Follows kubelet `fastStaticPodsRegistration`.
   */
  registerStaticPods(): Promise<void> {
    return this.engines.registerStaticPods();
  }

  handlePodSyncByUID(uid: string): boolean {
    return this.engines.syncHandler.handlePodSyncByUID(uid);
  }

  async #run(caller: AbortSignal): Promise<void> {
    const { engines } = this;
    const { signal } = this.#stop;
    // not AbortSignal.any(): `aborted` of such a signal looks at all of its sources each time, and every step of a pod reads it
    const abort = (): void => {
      this.#stop.abort(caller.reason);
    };
    if (caller.aborted) abort();
    else caller.addEventListener('abort', abort, { once: true });
    const loop = new SyncLoop<LoopInput>({
      clock: this.#clock,
      logger: this.#logger,
      runtimeErrors: () => engines.runtimeState.errors(),
      handle: (input) => this.#handle(input),
      coalesce: new Set(['sync', 'housekeeping']),
      isIdle: (input) => input.type === 'sync' && !engines.hasPodsToSync(),
    });
    this.#loop = loop;
    const background = engines.start(signal);
    try {
      await loop.run(this.#inputs(engines), signal);
    } finally {
      caller.removeEventListener('abort', abort);
      this.#stop.abort();
      await background;
    }
  }

  /** Merges the inputs of the sync loop (R38). */
  #inputs({ pleg, probeManager }: Engines): Observable<LoopInput> {
    return merge(
      this.#options.configUpdates.pipe(
        map((update): LoopInput => ({ type: 'config', update: this.#own(update) })),
      ),
      pleg.events.pipe(map((event): LoopInput => ({ type: 'pleg', event }))),
      probeUpdates(probeManager).pipe(map((update): LoopInput => ({ type: 'probe', update }))),
      ticks<LoopInput>(this.#clock, this.#periods.syncTickMs, { type: 'sync' }),
      ticks<LoopInput>(this.#clock, this.#periods.housekeepingMs, { type: 'housekeeping' }),
    ).pipe(filter((input) => input.type !== 'pleg' || input.event.type !== 'ContainerChanged'));
  }

  /** Omits pods of other namespaces when the agent is restricted to one. */
  #own(update: PodUpdate): PodUpdate {
    const { namespace } = this.#options;
    if (namespace === undefined || namespace === '') return update;
    return { ...update, pods: update.pods.filter((pod) => pod.metadata?.namespace === namespace) };
  }

  #handle(input: LoopInput): Promise<void> | undefined {
    const { engines } = this;
    switch (input.type) {
      case 'config':
        return this.#handleConfig(input.update);
      case 'pleg':
        if (input.event.type !== 'ContainerRemoved') this.handlePodSyncByUID(input.event.uid); // R41
        if (input.event.type === 'ContainerDied') engines.trimDeadContainers(input.event);
        return undefined;
      case 'probe':
        engines.handleProbeUpdate(input.update);
        return undefined;
      case 'sync':
        this.handlePodSyncs(engines.podsToSync());
        return undefined;
      case 'housekeeping':
        return this.#housekeep();
    }
  }

  /** Handles an update of a source (R40). The source counts as seen only after that (R15). */
  async #handleConfig({ op, source, pods }: PodUpdate): Promise<void> {
    switch (op) {
      case 'ADD':
        await this.handlePodAdditions(pods);
        break;
      case 'UPDATE':
      case 'DELETE':
        await this.handlePodUpdates(pods);
        break;
      case 'REMOVE':
        await this.handlePodRemoves(pods);
        break;
      case 'RECONCILE':
        await this.handlePodReconcile(pods);
    }
    this.#options.sourcesReady.addSource?.(source);
    if (this.#options.sourcesReady.allReady()) this.#ready.open();
  }

  /** Runs one housekeeping pass (R47). */
  async #housekeep(): Promise<void> {
    if (!this.#options.sourcesReady.allReady()) return;
    this.#ready.open(); // without any source no update would open it
    const startedAt = steadyNow(this.#clock);
    try {
      await this.handlePodCleanups();
    } catch (reason) {
      this.#logger.error('housekeeping failed', { err: messageOf(reason) });
    }
    const tookMs = Math.round(steadyNow(this.#clock) - startedAt);
    if (tookMs > 1000) this.#logger.error('housekeeping took longer than expected', { tookMs });
  }
}
