import { setImmediate as nextTurn } from 'node:timers/promises';
import { Subject } from 'rxjs';
import { type ApiClient, ApiError } from '../api/client.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import { intercept } from '../api/interceptor.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { jitter, type Random } from '../base/random.ts';
import { PodConfig, SourcesReady } from '../config/pod-config.ts';
import type { SnapshotChanges, SourceSnapshot } from '../config/pod-update.ts';
import type { Node, Pod } from '../kube/types.ts';
import { PodsController, type PodsControllerPeriods } from '../pods/pods-controller.ts';
import type { SimulatedProvider } from './simulated-provider.ts';

/** Dependencies of the pods of all simulated nodes. */
export interface SimulatedNodeDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The pods that the simulation's informer holds. */
  readonly knownPods: KnownObjects<Pod>;
  /** Returns the pods of a node that its own kubelet runs. */
  readonly podsOf: (node: string) => readonly Pod[];
  readonly recorderOf: (node: string) => EventRecorder;
  readonly makeProvider: (node: string, address: string) => SimulatedProvider;
}

/** One simulated node. */
export interface SimulatedNodeOptions {
  readonly name: string;
  readonly address: string;
  readonly node: () => Node | undefined;
  readonly random: Random;
}

/**
 * Returns the periods of one simulated node. The provider reports every change at once, so the relist, the housekeeping and the sync of
 * unchanged pods, which find what was missed, need not run each second or minute on thousands of nodes. They are up to a fifth longer by
 * chance, so that nodes that start together do not do them together.
 */
export const kubeletPeriods = (random: Random): Partial<PodsControllerPeriods> => ({
  resyncMs: 600_000,
  relistMs: Math.round(jitter(random, 60_000, 0.2)),
  housekeepingMs: Math.round(jitter(random, 10_000, 0.2)),
  syncTickMs: 1000,
});

interface Runtime {
  readonly controller: PodsController;
  readonly snapshots: Subject<SourceSnapshot>;
  readonly config: PodConfig;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** Whether the first snapshot was delivered; changes before it are part of it. */
  isPrimed: boolean;
}

/**
 * SimulatedNode runs the pods of one simulated node with a {@link PodsController} of its own: the lifecycle is the kubelet's. The controller
 * exists from the node's first pod on, so that an idle node costs almost nothing.
 */
export class SimulatedNode {
  readonly name: string;
  readonly address: string;
  readonly #deps: SimulatedNodeDeps;
  readonly #options: SimulatedNodeOptions;
  #provider: SimulatedProvider | undefined;
  #runtime: Runtime | undefined;
  #cutOff = false;
  /** Whether changes were missed since the last delivery. */
  #stale = false;

  constructor(deps: SimulatedNodeDeps, options: SimulatedNodeOptions) {
    this.#deps = deps;
    this.#options = options;
    this.name = options.name;
    this.address = options.address;
  }

  /** The controller of the node's pods; `undefined` while it has had none. */
  get controller(): PodsController | undefined {
    return this.#runtime?.controller;
  }

  /** The containers of the node. They survive a restart of its kubelet. */
  get provider(): SimulatedProvider {
    this.#provider ??= this.#deps.makeProvider(this.name, this.address);
    return this.#provider;
  }

  /** True while the node cannot reach the API server. */
  get isCutOff(): boolean {
    return this.#cutOff;
  }

  /** Delivers changes of the node's pods. */
  deliver(changes: SnapshotChanges): void {
    if (this.#cutOff) {
      this.#stale = true;
      return;
    }
    if (!this.#runtime && changes.set.length > 0) this.start();
    else if (this.#runtime?.isPrimed) this.#runtime.snapshots.next({ source: 'api', pods: [], changes });
  }

  /** Starts the kubelet with all pods of the node; without effect while it runs. */
  start(): PodsController {
    this.#runtime ??= this.#launch();
    return this.#runtime.controller;
  }

  /** Ends the kubelet; the containers stay. */
  async stop(): Promise<void> {
    const runtime = this.#runtime;
    this.#runtime = undefined;
    if (!runtime) return;
    runtime.stop.abort();
    runtime.config.stop();
    await runtime.ended;
  }

  /** Restarts the kubelet, as a crash does: its memory is lost. @param containersToo the machine restarts: every container ends */
  async restart(containersToo: boolean): Promise<void> {
    const hadPods = this.#runtime !== undefined;
    await this.stop();
    if (containersToo) await this.#provider?.reboot();
    if (hadPods && !this.#cutOff) this.start();
  }

  /** Cuts the connection to the API server: requests fail, and changes arrive only after {@link reconnect}. */
  disconnect(): void {
    this.#cutOff = true;
  }

  /** Restores the connection; changes that were missed are delivered as one snapshot, as by a new list. */
  reconnect(): void {
    this.#cutOff = false;
    if (!this.#stale) return;
    this.#stale = false;
    if (this.#runtime) void this.#prime(this.#runtime);
    else if (this.#deps.podsOf(this.name).length > 0) this.start();
  }

  #launch(): Runtime {
    const { clock, logger: shared, knownPods } = this.#deps;
    const { random, node } = this.#options;
    const logger = shared.with({ node: this.name });
    const client = intercept(this.#deps.client, {
      call: (_call, next) => {
        if (this.#cutOff)
          throw new ApiError(0, { message: 'the simulated node cannot reach the API server' });
        return next();
      },
    });
    const recorder = this.#deps.recorderOf(this.name);
    const config = new PodConfig({ clock, recorder, logger });
    const controller = new PodsController({
      nodeName: this.name,
      nodeIP: this.address,
      nodeGetter: node,
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      kubeClient: client,
      knownPods,
      eventRecorder: recorder,
      clock,
      random,
      logger,
      periods: kubeletPeriods(random),
      // all immediate effects of a pod's start or end happen within this turn of the event loop
      statuses: { settle: () => nextTurn(), fromWatch: true },
    });
    for (const pod of this.#deps.podsOf(this.name)) this.provider.adopt(pod);
    controller.registerProvider(this.provider);
    const snapshots = new Subject<SourceSnapshot>();
    config.addSource('api', snapshots);
    const stop = new AbortController();
    const ended = controller.run(stop.signal).catch((reason: unknown) => {
      logger.error('the kubelet of a simulated node ended', { err: reason });
    });
    const runtime = { controller, snapshots, config, stop, ended, isPrimed: false };
    void this.#prime(runtime);
    return runtime;
  }

  /** Delivers the first snapshot once the containers were listed, as no pod is synced before. */
  async #prime(runtime: Runtime): Promise<void> {
    await nextTurn();
    if (runtime.stop.signal.aborted) return;
    this.#stale = this.#cutOff;
    if (this.#cutOff) return;
    runtime.isPrimed = true;
    runtime.snapshots.next({ source: 'api', pods: this.#deps.podsOf(this.name) });
  }
}
