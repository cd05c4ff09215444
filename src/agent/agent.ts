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

/** What the agent tells those in the same process. */
export interface AgentEvents {
  /** A manifest or manifest URL that cannot be used. */
  problem: [problem: { readonly source: string; readonly message: string }];
}

/**
 * A whole node agent: sources, controller, provider, node. The composition root: the one place that knows who fills whose slice.
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

  /** Puts an agent together and makes its provider; nothing runs yet. */
  static async create(options: AgentOptions): Promise<Agent> {
    return new Agent(options, await composeAgent(options));
  }

  get controller(): PodsController {
    return this.#parts.controller;
  }

  /** Absent: standalone. */
  get node(): NodeController | undefined {
    return this.#parts.node;
  }

  get provider(): PodProvider {
    return this.#parts.provider;
  }

  /** The pods that the API server gives to this node; absent: standalone. */
  get podInformer(): Informer<Pod> | undefined {
    return this.#parts.cluster.pods;
  }

  /** Runs until `signal` aborts or {@link stop}; containers go on. */
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

  /** Static pods get their mirrors as soon as the API server has the node. @returns what ends the watch */
  #registerStaticPods(): () => void {
    const { cluster, controller } = this.#parts;
    const seen = cluster.nodes?.bursts().pipe(first(({ objects }) => objects.length > 0, undefined));
    const registration = seen?.subscribe((burst) => {
      if (burst) void controller.registerStaticPods();
    });
    return () => registration?.unsubscribe();
  }

  /** A node that shuts down says so before its pods end. @returns what ends the watch */
  #writeStatusAtOnce(): () => void {
    const { node, protection, common } = this.#parts;
    return protection.events.on('statusChanged', () => {
      node?.refresh().catch((reason: unknown) => {
        common.logger.warn('the node status could not be told of the shutdown', { err: messageOf(reason) });
      });
    });
  }

  /** Writes the last Events; a server that does not answer is not waited for. */
  async #flushEvents(): Promise<void> {
    const { recorder, clock } = this.#parts.common;
    if (!(recorder instanceof EventBroadcaster)) return;
    await Promise.race([recorder.flush(), clock.sleep(flushMs)]).catch(() => undefined);
    recorder.stop();
  }

  /** Keeps the Node until `signal` aborts; then leaves it as the exit policy says, with its lease renewed until that is done. */
  async #runNode(signal: AbortSignal): Promise<void> {
    const { node } = this.#parts;
    const leave = (): void => void node?.stop();
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    await node?.run(new AbortController().signal);
  }

  /** The lease comes first: after a crash the node is taken for dead until it is renewed, and thousands of pods are work for a while. */
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

  /** Each listing finds an old problem again: it is told once while it lasts. */
  #reporter(): ReportProblem {
    const { clock, logger } = this.#parts.common;
    const lasting = new LastingProblems(clock);
    return (source, message) => {
      if (!lasting.isNew(source, message)) return;
      logger.error('a manifest cannot be used', { source, problem: message });
      this.events.emit('problem', { source, message });
    };
  }
}

/** How long the lease alone is asked for at the start, ms: an API server that does not answer is asked for everything then. */
const leasePatienceMs = 1000;

/**
 * How long pods wait at the start until it is known what the node is short of, ms: on a full node what runs there is to be refused, not
 * admitted and then evicted. The kubelet takes longer than that to ask for its pods.
 */
const pressurePatienceMs = 2000;

/** How long the last events may take to be written, ms. */
const flushMs = 2000;
