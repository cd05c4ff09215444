import type { Duplex } from 'node:stream';
import { createApiClient, type HttpApiClient } from '../../api/rest/http-client.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { BackendEvent, ObservedPod } from '../../provider/hooks.ts';
import type { LogOptions, LogSink } from '../../provider/logs.ts';
import type { ProviderAdmission, TerminalIo } from '../../provider/powers.ts';
import type {
  NodeDescription,
  NodeProvider,
  PodProvider,
  PodSyncResult,
  SyncPodRequest,
} from '../../provider/provider.ts';
import type { ContainerRef, PodRef } from '../../provider/refs.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../../provider/runtime-pod.ts';
import type { PodUsage } from '../../provider/usage.ts';
import { admitBackingPod } from './admission.ts';
import { BackingCluster } from './backing-cluster.ts';
import {
  isOver,
  lostBacking,
  type ObservedBacking,
  podStatusOf,
  runtimePodOf,
  wasStarted,
} from './backing-status.ts';
import { type BackingContainer, BackingStreams } from './backing-streams.ts';
import { Carrier } from './carrier.ts';
import { Leadership } from './election.ts';
import { EventForwarder } from './event-forwarder.ts';
import { execToEnd } from './exec-to-end.ts';
import { backingNode } from './node.ts';
import {
  backingName,
  backingNamespace,
  type BackingOwner,
  ownerSelector,
  watchedNamespaces,
} from './ownership.ts';
import { Placer } from './placer.ts';
import { PodStore } from './pod-store.ts';
import { Remover } from './remover.ts';
import type { KubernetesSettings } from './settings.ts';
import { usageOf } from './usage.ts';

/** What a {@link KubernetesProvider} is made of. */
export interface KubernetesProviderOptions extends Omit<KubernetesSettings, 'kubeconfig' | 'context'> {
  /** Address of the backing API server and credentials for it. */
  readonly connection: ApiConnection;
  /** Backing pods are labelled with it; those of other nodes are not touched. */
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Names this agent in the lease of `leaderElection`. Default: a UUID. */
  readonly identity?: string;
  /** Calls the backing API server. Default: a client of `connection`. */
  readonly client?: HttpApiClient;
}

/** The deadline of the request with which `ping` asks the backing cluster, ms. */
const pingMs = 10_000;

/**
 * KubernetesProvider runs each pod as a pod of another cluster, the backing cluster. The backing cluster schedules, starts, restarts and
 * probes; what the pod refers to is carried along; status, events, logs and streams are passed through.
 *
 * @example
 * const connection = await connectionFromKubeconfig(systemClock, 'backing.kubeconfig');
 * const provider = new KubernetesProvider({ connection, namespace: 'podtender', nodeName: 'backing', clock: systemClock });
 * const node = await runNode({ nodeName: 'backing', provider }, signal);
 */
export class KubernetesProvider implements PodProvider, NodeProvider {
  readonly name = 'kubernetes';
  /** The backing cluster runs the probes. */
  readonly probedBy = 'provider';
  /** Nothing is mounted on this machine. */
  readonly volumesBy = 'provider';
  /** Labels, taint and capacity of the node. */
  readonly node: NodeDescription;
  readonly #options: KubernetesProviderOptions;
  readonly #owner: BackingOwner;
  readonly #client: HttpApiClient;
  readonly #store: PodStore;
  readonly #cluster: BackingCluster;
  readonly #placer: Placer;
  readonly #carrier: Carrier;
  readonly #remover: Remover;
  readonly #streams: BackingStreams;
  readonly #leadership: Leadership | undefined;
  readonly #events = new Emitter<{ status: [ObservedPod]; event: [BackendEvent] }>();

  constructor(options: KubernetesProviderOptions) {
    const { clock, nodeName, clusterName = 'default', connection, qps = 50, burst = 100 } = options;
    const { random = systemRandom, logger = silentLogger } = options;
    const shared = { clock, random, logger };
    const client = options.client ?? createApiClient(connection, { ...shared, qps, burst });
    const owner: BackingOwner = { clusterName, nodeName };
    const store = new PodStore(owner);
    const carrier = new Carrier({ client, clock, owner });
    const acting = { client, clock, owner, store };
    this.#options = options;
    this.#owner = owner;
    this.#client = client;
    this.#store = store;
    this.#carrier = carrier;
    this.#placer = new Placer({ ...acting, settings: options, carrier });
    this.#remover = new Remover({ ...acting, placeOf: (pod) => this.#placeOf(pod) });
    this.#streams = new BackingStreams(connection, clock);
    this.#leadership = leadershipOf(options, client, { ...shared });
    this.#cluster = this.#watch({ ...shared, client });
    this.node = backingNode(nodeName, options);
  }

  async syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    const { pod } = request;
    await this.#ready(signal);
    const observed = this.#store.get(uidOf(pod));
    if (observed?.gone === true) return { results: [], changed: false };
    if (observed) return this.#placer.refresh(request, observed.pod, signal);
    if (!wasStarted(pod)) return this.#placer.place(request, signal);
    // an earlier agent reported containers of this pod: its backing pod is not made again, it is gone
    const identity = identityOfPod(pod);
    this.#store.lost(identity, lostBacking(pod, this.#placeOf(identity) ?? identity), this.#now());
    this.#push(identity.uid);
    return { results: [], changed: true };
  }

  async killPod(
    _pod: Pod | undefined,
    running: RuntimePod,
    grace: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#ready(signal);
    await this.#remover.stop(running, grace, signal);
    this.#push(running.uid);
  }

  async deletePod(ref: PodRef, _pod: Pod | undefined, signal: AbortSignal): Promise<void> {
    await this.#ready(signal);
    await this.#remover.remove(ref, signal);
    this.#carrier.forget(ref.uid);
  }

  async listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    await this.#ready(signal);
    return this.#store.all().map((observed) => runtimePodOf(observed, this.#now()));
  }

  async getPodStatus(ref: PodRef, signal?: AbortSignal): Promise<RuntimePodStatus> {
    await this.#ready(signal);
    const observed = this.#store.get(ref.uid);
    return observed ? podStatusOf(observed, this.#now()) : emptyPodStatus(ref);
  }

  /** Resolves while the backing cluster answers and accepts the credentials. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#ready(signal);
    await this.#client.raw('/version', { method: 'GET', signal, timeoutMs: pingMs });
  }

  onPodStatus(listener: (observed: ObservedPod) => void): () => void {
    return this.#events.on('status', listener);
  }

  onBackendEvent(listener: (event: BackendEvent) => void): () => void {
    return this.#events.on('event', listener);
  }

  admit(pod: Pod): ProviderAdmission {
    return admitBackingPod(pod, this.#options);
  }

  async readLogs(
    container: ContainerRef,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    const observed = this.#observed(container.podUid);
    const newest = podStatusOf(observed, this.#now()).containerStatuses.find(
      ({ name }) => name === container.container,
    );
    const previous = newest !== undefined && newest.id !== container.id;
    await this.#streams.logs(targetOf(observed, container.container), { ...options, previous }, sink, signal);
  }

  async exec(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number> {
    return this.#streams.exec(this.#running(container), command, io, signal);
  }

  async execSync(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }> {
    const target = this.#running(container);
    return execToEnd((io, signal) => this.#streams.exec(target, command, io, signal), {
      clock: this.#options.clock,
      timeoutMs,
    });
  }

  async attach(container: ContainerRef, io: TerminalIo, signal: AbortSignal): Promise<void> {
    await this.#streams.attach(this.#running(container), io, signal);
  }

  async portForward(
    { uid }: RuntimePodStatus,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#streams.portForward(targetOf(this.#observed(uid), ''), port, stream, signal);
  }

  async listUsage(signal: AbortSignal = new AbortController().signal): Promise<readonly PodUsage[]> {
    await this.#ready(signal);
    const now = this.#now();
    const running = this.#store.all().filter((observed) => !isOver(observed, now));
    const selector = ownerSelector(this.#owner);
    const namespaces = watchedNamespaces(this.#options);
    return usageOf(running, { client: this.#client, namespaces, selector, now }, signal);
  }

  /** Ends the watches and gives the lease up. Backing pods stay. */
  async close(): Promise<void> {
    this.#cluster.close();
    await this.#leadership?.close();
    await this.#streams.close();
    if (this.#options.client === undefined) await this.#client.close();
  }

  /**
   * Resolves once this agent may act on the backing pods: with `leaderElection` when it leads. The agent starts after that, so that a
   * second one of the same node name waits without a Node of its own.
   */
  async open(): Promise<void> {
    await this.#leadership?.acquire();
  }

  /**
   * Resolves when `signal` aborts. An agent whose provider has lost its lease must end at once: another agent acts for its node.
   *
   * @throws {AgentError} `unavailable` once this agent has lost the lease of `leaderElection`
   */
  async lead(signal: AbortSignal): Promise<void> {
    const loss = this.#leadership?.loss ?? new Promise<never>(() => undefined);
    await untilAborted(loss, signal).catch((reason: unknown) => {
      if (!signal.aborted) throw reason;
    });
  }

  async #ready(signal?: AbortSignal): Promise<void> {
    this.#leadership?.check();
    await this.#cluster.ready(signal);
  }

  #watch(deps: { clock: Clock; random: Random; logger: Logger; client: HttpApiClient }): BackingCluster {
    const { clock } = deps;
    const forwarder = new EventForwarder();
    return new BackingCluster({
      ...deps,
      namespaces: watchedNamespaces(this.#options),
      selector: ownerSelector(this.#owner),
      seen: (pod) => {
        this.#push(this.#store.seen(pod, clock.now()));
      },
      deleted: (last) => {
        this.#push(this.#store.deleted(last, clock.now()));
      },
      event: (event, initial) => {
        const uid = this.#store.uidOfBacking(event.involvedObject.uid ?? '');
        const pod = uid === undefined ? undefined : this.#store.get(uid)?.identity;
        const fresh = forwarder.take(event, initial, pod);
        if (fresh) this.#events.emit('event', fresh);
      },
    });
  }

  #placeOf(pod: PodRef): { readonly name: string; readonly namespace: string } | undefined {
    const namespace = backingNamespace(this.#options, pod.namespace);
    return namespace === undefined ? undefined : { name: backingName(this.#owner, pod), namespace };
  }

  #observed(uid: string): ObservedBacking {
    const observed = this.#store.get(uid);
    if (observed && !observed.gone) return observed;
    throw new AgentError('not_found', 'the pod has no pod in the backing cluster');
  }

  /** @throws {AgentError} `not_found` for a container that does not run */
  #running({ podUid, container }: ContainerRef): BackingContainer {
    const observed = this.#observed(podUid);
    const { containerStatuses } = podStatusOf(observed, this.#now());
    if (containerStatuses.some(({ name, state }) => name === container && state === 'running'))
      return targetOf(observed, container);
    throw new AgentError('not_found', `container ${container} is not running in the backing cluster`);
  }

  #push(uid: string | undefined): void {
    const observed = uid === undefined ? undefined : this.#store.get(uid);
    if (!observed) return;
    const now = this.#now();
    this.#events.emit('status', { pod: runtimePodOf(observed, now), status: podStatusOf(observed, now) });
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function leadershipOf(
  { leaderElection, namespace, nodeName, connection, identity }: KubernetesProviderOptions,
  client: HttpApiClient,
  shared: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
): Leadership | undefined {
  if (leaderElection === undefined || leaderElection === false) return undefined;
  const deps = {
    ...{ ...shared, client, nodeName, namespace: namespace ?? connection.namespace ?? 'default' },
    identity: identity ?? shared.random.uuid(),
  };
  return new Leadership(deps, leaderElection === true ? {} : leaderElection);
}

const targetOf = ({ pod }: ObservedBacking, container: string): BackingContainer => ({
  namespace: namespaceOf(pod),
  pod: nameOf(pod),
  container,
});

const identityOfPod = (pod: Pod): PodRef => ({
  uid: uidOf(pod),
  name: nameOf(pod),
  namespace: namespaceOf(pod),
});
