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
import { requireProvider } from '../provider/require-provider.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { StatusManager, StatusTelling } from '../status/status-manager.ts';
import { buildEngines, type Engines } from './engines.ts';
import type { PodHost } from './pod-host.ts';
import { checkRegistry, type RegistryOptions, withRegistry } from './registry.ts';
import { type ProbeUpdate, probeUpdates } from './probing.ts';
import { SyncLoop, ticks } from './sync-loop.ts';

/** Periods of the sync loop; the defaults are the kubelet's. */
export interface PodsControllerPeriods {
  /** Between two looks at an unchanged pod, ms (kubelet syncFrequency). */
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

/** Knows the node as it was last seen. {@link NodeController} is one. */
export interface NodeGetter {
  /** The node; `undefined` until it is known. */
  getNode(): Node | undefined;
}

/** Knows which sources of pods were seen; `SourcesReady` is one. */
export interface SourcesSeen {
  /** Notes that an update of the source was handled; absent: that is noted elsewhere. */
  addSource?(source: string): void;
  /** Whether all sources were seen. False at first, true for good once each has delivered its first pods. Nothing is deleted before. */
  allReady(): boolean;
}

/** What the sync loop calls for each kind of change; {@link PodsController} is one. Follows kubelet `SyncHandler`. */
export interface SyncHandler {
  handlePodAdditions(pods: readonly Pod[]): Promise<void>;
  handlePodUpdates(pods: readonly Pod[]): Promise<void>;
  handlePodRemoves(pods: readonly Pod[]): Promise<void>;
  handlePodReconcile(pods: readonly Pod[]): Promise<void>;
  handlePodSyncs(pods: readonly Pod[]): void;
  /** Returns false when no pod of that UID is desired. */
  handlePodSyncByUID(uid: string): boolean;
  handlePodCleanups(): Promise<void>;
}

/** How often the controller does what; the same as {@link PodsControllerPeriods}, in the words of the reference framework. */
export interface FrameworkOptions {
  /** Between two looks at an unchanged pod, ms; here also `periods.resyncMs`. Default: 60,000. */
  readonly syncFrequency?: number;
}

/** What the controller is told by the one who embeds it. */
export interface PodsControllerOptions {
  /** Only pods of this namespace are this agent's; absent: all. */
  readonly namespace?: string;
  readonly nodeName: string;
  /** The node's addresses, primary first; hostNetwork pods have them. */
  readonly nodeIP: string | readonly string[];
  /** What the sources of pods want, in one stream (`PodConfig.updates`). */
  readonly configUpdates: Observable<PodUpdate>;
  /** Which sources were handled (`SourcesReady`): nothing is deleted before all are. */
  readonly sourcesReady: SourcesSeen;
  /** Absent: standalone. Static pods run, nothing is written (R25). */
  readonly kubeClient?: ApiClient;
  /** What the informer of the node's pods has at hand (`Informer.known`): statuses are then told with half the parsing. */
  readonly knownPods?: KnownObjects<Pod>;
  /** The node as last seen. */
  readonly nodeGetter: (() => Node | undefined) | NodeGetter;
  /** Where images come from, and the credentials for it; absent: images are taken as pods name them. */
  readonly registry?: RegistryOptions;
  readonly framework?: FrameworkOptions;
  readonly eventRecorder?: EventRecorder;
  /** Keeps the pods' resources for the next agent; absent: they end with this one. */
  readonly allocations?: ResourceKeeper;
  /** What pods find on this node besides their containers: volumes, cgroups, secrets. Absent: nothing. */
  readonly host?: Partial<PodHost>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly periods?: Partial<PodsControllerPeriods>;
  /**
   * How long a mirror pod that was deleted stays away before it is made anew, ms. Default 0, as the kubelet: writes to etcd take longer than
   * `kubectl delete` needs from its look at the pod to its watch. Beside a server that writes at once kubectl would find the new mirror, and wait for it to go.
   */
  readonly mirrorPauseMs?: number;
  /** Where telling statuses shall differ from the kubelet's. */
  readonly statuses?: StatusTelling;
  /** Traces the steps of pods and what they ask of the provider. */
  readonly tracer?: Tracer;
}

/**
 * The options of {@link PodsController} by the name that the reference framework has for them.
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

/** What the sync loop takes. */
export type LoopInput =
  | { readonly type: 'config'; readonly update: PodUpdate }
  | { readonly type: 'pleg'; readonly event: PodLifecycleEvent }
  | { readonly type: 'probe'; readonly update: ProbeUpdate }
  | { readonly type: 'sync' }
  | { readonly type: 'housekeeping' };

const silentRecorder: EventRecorder = { event: () => undefined };

/**
 * Makes the pods of one node happen: takes what the sources want, drives a worker per pod, and tells the API server what became of it.
 * Give it a provider, then run it.
 *
 * Follows the kubelet's sync loop (R35…R80).
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
   * Sets the provider that runs the pods. To be called once, before {@link run}.
   *
   * @param more of the host, beyond {@link PodsControllerOptions.host}: what can only be made after the provider
   * @throws {AgentError} `already_exists` on a second call, `invalid_argument` naming what the object lacks to be a provider
   */
  registerProvider(provider: PodProvider, more: Partial<PodHost> = {}): void {
    if (this.#engines)
      throw new AgentError('already_exists', 'a provider is registered already; a controller has one');
    requireProvider(provider);
    const { nodeIP, nodeGetter, host, eventRecorder, random, registry, ...rest } = this.#options;
    const { kubeClient } = rest;
    this.#engines = buildEngines({
      ...rest,
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

  /** Resolves when every source's first pods were handled: then the node may say that it is ready. */
  get ready(): Promise<void> {
    return this.#ready.wait();
  }

  /** Runs until `signal` aborts or {@link stop} is called. Containers go on when it ends. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(AbortSignal.any([signal, this.#stop.signal]));
    return this.#running;
  }

  /** Ends the run and waits for it; containers go on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  getStatusManager(): StatusManager {
    return this.engines.statusManager;
  }

  /** What other parts may ask about a pod's worker (R120). */
  getPodStateProvider(): PodWorkers {
    return this.engines.podWorkers;
  }

  /**
   * Whether a container of the pod may run or be started. True from the moment that the pod is known, false once its worker has terminated.
   * Before all sources were seen it is true of unknown pods, too.
   *
   * Follows kubelet `PodCouldHaveRunningContainers`.
   */
  podCouldHaveRunningContainers(pod: Pod): boolean {
    return this.engines.podWorkers.couldHaveRunningContainers(uidOf(pod));
  }

  /**
   * Whether everything that the pod used on the node is free again, so that its object may be deleted: its worker has terminated and cleaned
   * up (volumes, cgroups, users), and `status` shows no running container. False before that; for a pod without a worker it is true once all
   * sources were seen. Dead containers and their logs may still be there.
   *
   * @param status the pod's status as it was last reported
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

  /** The parts that were put together, for those who serve them over HTTP. @throws {AgentError} before a provider is registered */
  get engines(): Engines {
    if (!this.#engines)
      throw new AgentError('failed_precondition', 'no provider is registered: call registerProvider first');
    return this.#engines;
  }

  /** The same, or undefined as long as no provider is registered. */
  get startedEngines(): Engines | undefined {
    return this.#engines;
  }

  /** Between two looks at an unchanged pod, ms. */
  get resyncMs(): number {
    return this.#periods.resyncMs;
  }

  /** When the sync loop last turned (R37). */
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
   * Makes the mirrors of static pods that were synced before the API server knew the node; to be called once it does.
   *
   * Follows kubelet `fastStaticPodsRegistration`.
   */
  registerStaticPods(): Promise<void> {
    return this.engines.registerStaticPods();
  }

  handlePodSyncByUID(uid: string): boolean {
    return this.engines.syncHandler.handlePodSyncByUID(uid);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { engines } = this;
    const loop = new SyncLoop<LoopInput>({
      clock: this.#clock,
      logger: this.#logger,
      runtimeErrors: () => engines.runtimeState.errors(),
      handle: (input) => this.#handle(input),
      coalesce: new Set(['sync', 'housekeeping']),
    });
    this.#loop = loop;
    const background = engines.start(signal);
    try {
      await loop.run(this.#inputs(engines), signal);
    } finally {
      this.#stop.abort();
      await background;
    }
  }

  /** R38. */
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

  /** Leaves out pods of other namespaces where the agent was given one. */
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

  /** R40; the source counts as seen only after its update was handled (R15). */
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

  /** R47. */
  async #housekeep(): Promise<void> {
    if (!this.#options.sourcesReady.allReady()) return;
    this.#ready.open(); // where there are no sources at all, no update tells so
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
