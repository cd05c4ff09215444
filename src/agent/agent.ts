import { first } from 'rxjs';
import { EventBroadcaster } from '../api/events/event-recorder.ts';
import type { Informer } from '../api/cache/informer.ts';
import { steadyNow } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { Emitter } from '../base/emitter.ts';
import { apiServerSource, type PodStore } from '../config/apiserver-source.ts';
import type { Pod } from '../kube/types.ts';
import type { NodeController } from '../node/node-controller.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { AgentOptions } from './agent-options.ts';
import { type AgentParts, composeAgent } from './compose.ts';
import { nodeRefOf } from './evictions.ts';
import { manifestSources, type ReportProblem, LastingProblems } from './manifest-sources.ts';
import type { PodsController } from '../pods/pods-controller.ts';

/** The events that an agent emits in its process. */
export interface AgentEvents {
  /** A manifest or manifest URL cannot be used. */
  problem: [problem: { readonly source: string; readonly message: string }];
}

/**
 * Agent is a whole node agent: pod sources, pods controller, provider and node. `compose.ts` puts its subsystems together.
 *
 * @example
 * const agent = await Agent.create({ nodeName: 'rooms', rootDir: '/var/lib/rooms', client, makeProvider: () => new Rooms() });
 * await agent.run(signal);
 */
export class Agent {
  readonly events: Emitter<AgentEvents> = new Emitter<AgentEvents>();
  readonly #options: AgentOptions;
  readonly #parts: AgentParts;
  #running: Promise<void> | undefined;
  readonly #stop = new AbortController();

  private constructor(options: AgentOptions, parts: AgentParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Composes an agent and makes its provider. Nothing runs before {@link run}. */
  static async create(options: AgentOptions): Promise<Agent> {
    return new Agent(options, await composeAgent(options));
  }

  get controller(): PodsController {
    return this.#parts.controller;
  }

  /** The node controller; `undefined` in a standalone agent. */
  get node(): NodeController | undefined {
    return this.#parts.node;
  }

  get provider(): PodProvider {
    return this.#parts.provider;
  }

  /** The informer of the pods bound to this node; `undefined` in a standalone agent. */
  get podInformer(): Informer<Pod> | undefined {
    return this.#parts.cluster.pods;
  }

  /** Runs until `signal` aborts or {@link stop} is called. Containers keep running. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(AbortSignal.any([signal, this.#stop.signal]));
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { common, cluster, controller, node, config, volumes, servers, runUpkeep } = this.#parts;
    const { recorder } = common;
    await servers.start();
    recorder.event(nodeRefOf(this.#options.nodeName), 'Normal', 'Starting', 'Starting kubelet.');
    const off = [this.#registerStaticPods(), this.#writeStatusAtOnce()];
    this.#addSources();
    const leaseTried = this.#leaseTried(signal);
    void leaseTried.then(() => cluster.informers?.start(signal));
    void controller.ready.then(() => {
      node?.notifyAgentReady();
    });
    try {
      await Promise.all([
        this.#runNode(signal),
        leaseTried.then(() => Promise.all([controller.run(signal), runUpkeep(signal)])),
      ]);
    } finally {
      this.#stop.abort();
      for (const end of off) end();
      await servers.close();
      config.stop();
      volumes.stop();
      await this.#flushEvents();
    }
  }

  /** Creates the mirror pods of static pods as soon as the node is registered. @returns a function that ends the watch */
  #registerStaticPods(): () => void {
    const { cluster, controller } = this.#parts;
    const seen = cluster.nodes?.bursts().pipe(first(({ objects }) => objects.length > 0, undefined));
    const registration = seen?.subscribe((burst) => {
      if (burst) void controller.registerStaticPods();
    });
    return () => registration?.unsubscribe();
  }

  /** Writes the node status at once when a shutdown begins, before pods end. @returns a function that ends the watch */
  #writeStatusAtOnce(): () => void {
    const { node, protection, common } = this.#parts;
    return protection.events.on('statusChanged', () => {
      node?.refresh().catch((reason: unknown) => {
        common.logger.warn('node status could not be updated for the shutdown', { err: messageOf(reason) });
      });
    });
  }

  /** Writes the last Events, with a time limit. */
  async #flushEvents(): Promise<void> {
    const { recorder, clock } = this.#parts.common;
    if (!(recorder instanceof EventBroadcaster)) return;
    await Promise.race([recorder.flush(), clock.sleep(flushMs)]).catch(() => undefined);
    recorder.stop();
  }

  /** Runs the node controller until `signal` aborts; then applies the exit policy, while the lease is still renewed. */
  async #runNode(signal: AbortSignal): Promise<void> {
    const { node } = this.#parts;
    const leave = (): void => void node?.stop();
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    await node?.run(new AbortController().signal);
  }

  /**
   * Tries to renew the lease before the pods start: after a crash the node counts as dead until then, and thousands of pods take a while.
   */
  async #leaseTried(signal: AbortSignal): Promise<void> {
    const { node, common } = this.#parts;
    const tried = new AbortController();
    const patience = common.clock.sleep(leasePatienceMs, AbortSignal.any([signal, tried.signal]));
    await Promise.race([node?.leaseTried(), patience.catch(() => undefined)]);
    tried.abort();
  }

  #addSources(): void {
    const { config, cluster, common, protection } = this.#parts;
    const { pods, nodes } = cluster;
    const { clock } = common;
    const report = this.#reporter();
    for (const [name, source] of manifestSources(this.#options, clock, report))
      config.addSource(name, source);
    if (!pods || !nodes) return;
    const onChange: PodStore['onChange'] = (listener) => {
      const subscription = pods.bursts().subscribe((burst) => {
        listener(() => burst.objects, burst.changes);
      });
      return () => {
        subscription.unsubscribe();
      };
    };
    const latest = steadyNow(clock) + pressurePatienceMs;
    const nodeHasSynced = (): boolean =>
      nodes.store.list().length > 0 && (protection.knowsPressure || steadyNow(clock) >= latest);
    config.addSource('api', apiServerSource({ clock, pods: { onChange }, nodeHasSynced }));
  }

  /** Makes the reporter of manifest problems. Each listing finds a lasting problem again; it is reported only once. */
  #reporter(): ReportProblem {
    const { clock, logger } = this.#parts.common;
    const lasting = new LastingProblems(clock);
    return (source, message) => {
      if (!lasting.isNew(source, message)) return;
      logger.error('manifest cannot be used', { source, problem: message });
      this.events.emit('problem', { source, message });
    };
  }
}

/** How long the start waits for the lease, ms, when the API server does not respond. */
const leasePatienceMs = 1000;

/**
 * How long pods wait at the start for the first pressure conditions, ms: on a full node pods should be rejected rather than admitted and
 * then evicted. The kubelet takes longer than that to list its pods.
 */
const pressurePatienceMs = 2000;

/** The time limit for writing the last Events, ms. */
const flushMs = 2000;
