import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiClient } from '../api/client.ts';
import { isNotFound as isApiNotFound } from '../api/client.ts';
import type { Informer } from '../api/cache/informer.ts';
import { SharedInformers } from '../api/cache/shared-informers.ts';
import {
  configMapResource,
  nodeResource,
  podResource,
  secretResource,
  serviceResource,
} from '../api/resources.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Tracer } from '../base/tracing.ts';
import { apiServerSource, type PodStore } from '../config/apiserver-source.ts';
import { PodConfig, SourcesReady } from '../config/pod-config.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyOf, nameOf, namespaceOf, type PodSource, uidOf } from '../kube/names.ts';
import type { ConfigMap, KubeObject, Node, Pod, Secret, Service } from '../kube/types.ts';
import { TokenManager } from '../containers/objects/token-manager.ts';
import type { PodHost } from '../pods/pod-host.ts';
import { PodsController, type PodsControllerOptions } from '../pods/pods-controller.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { AnyProvider } from './contract.ts';
import { resolveEnvironment } from './environment.ts';
import { invalidInput } from './errors.ts';
import { nativeHost } from './native-host.ts';
import { HandlerProvider, type HandlerProviderDeps } from './handler-provider.ts';

/** What a pod controller is made of; the client, the provider and the node's name are needed. */
export interface PodControllerConfig extends Pick<HandlerProviderDeps, 'lostPods' | 'listPeriodMs'> {
  readonly client: ApiClient;
  /** A virtual-kubelet provider, or one of `podtender/provider`. */
  readonly provider: AnyProvider | PodProvider;
  readonly nodeName: string;
  /** Names the provider in container IDs and messages. Default `vkubelet`. */
  readonly providerName?: string;
  /** How often the pods of a provider that notifies are listed all the same, ms. Default 1 min. */
  readonly resyncPeriodMs?: number;
  /** The node's addresses, primary first. */
  readonly nodeIPs?: readonly string[];
  /** The node while no Node of its name is known: admission needs its capacity. */
  readonly node?: () => Node | undefined;
  readonly eventRecorder?: EventRecorder;
  /** Informers that others share; default: the controller's own, of this node alone. */
  readonly informers?: SharedInformers;
  /** Pods of the node that are this controller's; default: all. For informers that see more than one node. */
  readonly podEventFilterFunc?: (pod: Pod) => boolean;
  /** Further sources of pods by name; one called `api` takes the place of the API server's. Default: none. */
  readonly sources?: Readonly<Partial<Record<PodSource, PodsSource>>>;
  /** Gives pods to the provider as they are, without their environment resolved. */
  readonly skipDownwardAPIResolution?: boolean;
  readonly periods?: PodsControllerOptions['periods'];
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly tracer?: Tracer;
}

/** A source of pods (`fileSource`, `httpSource`, `apiServerSource`, or one's own). */
export type PodsSource = ReturnType<typeof apiServerSource>;

const silentRecorder: EventRecorder = { event: () => undefined };

/**
 * Brings the pods of one node to a virtual-kubelet provider, with the agent's own pod workers, status manager and clean-up.
 *
 * @example
 * const pods = new PodController({ client, provider, nodeName: 'rooms' });
 * await pods.run(signal);
 */
export class PodController {
  readonly #config: PodControllerConfig;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ready = new Latch();
  readonly #done = new Latch();
  readonly #informers: SharedInformers;
  readonly #ownsInformers: boolean;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  readonly #started = Promise.withResolvers<PodsController>();
  #controller: PodsController | undefined;
  #err: unknown;
  #running = false;

  /** @throws {InvalidInputError} naming what is missing */
  constructor(config: PodControllerConfig) {
    for (const [part, name] of [
      ['client', 'core client'],
      ['provider', 'provider'],
      ['nodeName', 'node name'],
    ] as const)
      if (!(config as Partial<PodControllerConfig>)[part])
        throw invalidInput(`missing ${name}: set \`${part}\``);
    this.#config = config;
    this.#clock = config.clock ?? systemClock;
    this.#logger = config.logger ?? silentLogger;
    const { client, nodeName, informers } = config;
    this.#started.promise.catch(() => undefined);
    const deps = { client, clock: this.#clock, random: config.random ?? systemRandom, logger: this.#logger };
    this.#ownsInformers = informers === undefined;
    this.#informers = informers ?? new SharedInformers(deps);
    this.#pods = this.#informers.informer<Pod>(podResource, { fieldSelector: `spec.nodeName=${nodeName}` });
    this.#nodes = this.#informers.informer<Node>(nodeResource, {
      fieldSelector: `metadata.name=${nodeName}`,
    });
    this.#services = this.#informers.informer<Service>(serviceResource);
  }

  /** Resolves when the pods that are there were seen, and their workers run. */
  get ready(): Promise<void> {
    return this.#ready.wait();
  }

  /** Resolves when {@link run} has ended, however. */
  get done(): Promise<void> {
    return this.#done.wait();
  }

  /** The error that ended {@link run}; undefined while it runs and after a requested stop. */
  get err(): unknown {
    return this.#err;
  }

  /** The pods that the API server gives to this node. */
  get podInformer(): Informer<Pod> {
    return this.#pods;
  }

  get serviceInformer(): Informer<Service> {
    return this.#services;
  }

  /** Resolves with the agent's own controller once {@link run} has made it; rejects if that fails. */
  get started(): Promise<PodsController> {
    return this.#started.promise;
  }

  /** The agent's own controller. @throws {AgentError} `failed_precondition` before {@link run} */
  get controller(): PodsController {
    if (!this.#controller)
      throw new AgentError('failed_precondition', 'the pod controller does not run yet: call run first');
    return this.#controller;
  }

  /** Runs until `signal` aborts; pods go on. @param _workers there is one for each pod, so that none waits for another */
  async run(signal: AbortSignal, _workers?: number): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a pod controller runs only once');
    this.#running = true;
    let adapted: HandlerProvider | undefined;
    const recorder = this.#config.eventRecorder ?? silentRecorder;
    const config = new PodConfig({ clock: this.#clock, recorder, logger: this.#logger });
    try {
      const { provider } = this.#config;
      if (!isPodProvider(provider)) adapted = this.#adapt(provider, recorder);
      const controller = this.#assemble(config, recorder);
      if (adapted) controller.registerProvider(adapted);
      else controller.registerProvider(provider as PodProvider, this.#nativeHost(recorder));
      this.#controller = controller;
      this.#started.resolve(controller);
      adapted?.start();
      const sources = { api: this.#source(), ...this.#config.sources };
      for (const [name, source] of Object.entries(sources)) config.addSource(name as PodSource, source);
      if (this.#ownsInformers) this.#informers.start(signal);
      void controller.ready.then(() => {
        this.#ready.open();
      });
      await controller.run(signal);
    } catch (reason) {
      this.#err = reason;
      this.#started.reject(reason);
      throw reason;
    } finally {
      config.stop();
      adapted?.stop();
      this.#done.open();
    }
  }

  #assemble(config: PodConfig, recorder: EventRecorder): PodsController {
    const { client, nodeName, nodeIPs = [], random, periods, tracer } = this.#config;
    return new PodsController({
      clock: this.#clock,
      logger: this.#logger,
      ...(random && { random }),
      nodeName,
      nodeIP: nodeIPs,
      configUpdates: config.updates,
      sourcesReady: new SourcesReady(config),
      nodeGetter: () => this.#node(),
      eventRecorder: recorder,
      kubeClient: client,
      knownPods: this.#pods.knownObjects,
      statuses: { settle: () => nextTurn(), fromWatch: true },
      ...(periods && { periods }),
      ...(tracer && { tracer }),
    });
  }

  #node(): Node | undefined {
    return this.#nodes.store.get(this.#config.nodeName) ?? this.#config.node?.();
  }

  #source(): PodsSource {
    const { podEventFilterFunc: filter } = this.#config;
    const onChange: PodStore['onChange'] = (listener) => {
      const subscription = this.#pods.bursts().subscribe((burst) => {
        if (filter) listener(() => burst.objects.filter(filter));
        else listener(() => burst.objects, burst.changes);
      });
      return () => {
        subscription.unsubscribe();
      };
    };
    return apiServerSource({
      clock: this.#clock,
      pods: { onChange },
      nodeHasSynced: () => this.#nodes.synced && this.#services.synced && this.#node() !== undefined,
    });
  }

  #adapt(handler: AnyProvider, recorder: EventRecorder): HandlerProvider {
    requireHandler(handler);
    const {
      providerName: name = 'vkubelet',
      skipDownwardAPIResolution,
      lostPods,
      listPeriodMs: every,
      resyncPeriodMs,
    } = this.#config;
    const listPeriodMs = every ?? (handler.notifyPods ? resyncPeriodMs : undefined);
    return new HandlerProvider({
      handler,
      name,
      clock: this.#clock,
      logger: this.#logger,
      recorder,
      ...(lostPods && { lostPods }),
      ...(listPeriodMs !== undefined && { listPeriodMs }),
      ...(!skipDownwardAPIResolution && { resolve: (pod: Pod) => this.#resolve(pod, recorder) }),
      deleteInApi: (pod, gracePeriodSeconds) => this.#deleteInApi(pod, gracePeriodSeconds),
    });
  }

  /** Deletes a pod's API object, unless it is gone or being deleted already. */
  async #deleteInApi(pod: Pod, gracePeriodSeconds: number | undefined): Promise<void> {
    const current = this.#pods.store.get(keyOf(pod));
    if (uidOf(current ?? {}) !== uidOf(pod) || current?.metadata?.deletionTimestamp) return;
    const { client } = this.#config;
    const ref = { namespace: namespaceOf(pod), name: nameOf(pod) };
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    try {
      await client.delete(podResource, ref, { ...grace, preconditions: { uid: uidOf(pod) } });
    } catch (reason) {
      if (!isApiNotFound(reason)) throw reason;
    }
  }

  /** What a provider of `podtender/provider` gets from the agent elsewhere. */
  #nativeHost(recorder: EventRecorder): Partial<PodHost> {
    const { client, random = systemRandom } = this.#config;
    const tokens = new TokenManager(client, this.#clock, random);
    return nativeHost({
      configMap: (namespace, name) => client.get<ConfigMap>(configMapResource, { namespace, name }),
      secret: (namespace, name) => client.get<Secret>(secretResource, { namespace, name }),
      token: (pod, wish) => tokens.get(pod, wish),
      resolveEnvironment: (pod) => this.#resolve(pod, recorder),
      nodeAllocatable: () => this.#node()?.status?.allocatable ?? {},
    });
  }

  #resolve(pod: Pod, recorder: EventRecorder): Promise<Pod> {
    const { client, nodeIPs = [] } = this.#config;
    const services = this.#services;
    return resolveEnvironment(pod, {
      configMap: (namespace, name) => orAbsent(client.get<ConfigMap>(configMapResource, { namespace, name })),
      secret: (namespace, name) => orAbsent(client.get<Secret>(secretResource, { namespace, name })),
      services: () => (services.synced ? services.store.list() : undefined),
      recorder,
      nodeAllocatable: () => this.#node()?.status?.allocatable ?? {},
      hostIps: () => nodeIPs,
    });
  }
}

async function orAbsent<T extends KubeObject>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (reason) {
    if (isApiNotFound(reason)) return undefined;
    throw new AgentError(AgentError.from(reason).code, messageOf(reason), { cause: reason });
  }
}

/** Whether a provider is one of `podtender/provider`. */
export const isPodProvider = (provider: AnyProvider | PodProvider): provider is PodProvider =>
  typeof provider === 'object' && 'syncPod' in provider;

const methods = ['createPod', 'updatePod', 'deletePod', 'getPod', 'getPodStatus', 'getPods'] as const;

/** Refuses what is no provider. @throws {InvalidInputError} naming the methods that are missing */
export function requireHandler(handler: AnyProvider): void {
  const candidate = handler as Partial<AnyProvider> | null | undefined;
  if (typeof candidate !== 'object' || candidate === null)
    throw invalidInput(`a provider is an object, not ${candidate === null ? 'null' : typeof candidate}`);
  const missing = methods.filter((method) => typeof candidate[method] !== 'function');
  if (missing.length > 0)
    throw invalidInput(`the provider lacks ${missing.map((name) => `${name}()`).join(', ')}`);
}
