import { EventBroadcaster } from '../api/events/event-recorder.ts';
import { Informer } from '../api/cache/informer.ts';
import type { ApiClient } from '../api/client.ts';
import { nodeResource, podResource } from '../api/resources.ts';
import { nodeSetters } from '../agent/node-setters.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import type { Burst } from '../api/cache/burst.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { EventRecorder } from '../kube/events.ts';
import { uidOf } from '../kube/names.ts';
import type { Node, Pod } from '../kube/types.ts';
import type { FaultTarget } from './faults.ts';
import { Heartbeats } from './heartbeats.ts';
import { KeyedRandom } from './keyed-random.ts';
import { Lanes } from './lanes.ts';
import { NodeKeeper, type NodeOverlay } from './node-keeper.ts';
import { SharedTimers } from './shared-timers.ts';
import { SimulatedNode } from './simulated-node.ts';
import { SimulatedProvider, type SimulatedAnswers } from './simulated-provider.ts';
import type { PlayedPods } from './stages/played-host.ts';
import { nodeIsReady, podIsReady, ReadyCount, type SimulationCounts } from './tally.ts';

/** Label of every simulated Node. */
export const simulatedLabel = 'podtender.io/simulated';

/** Options of a simulation. */
export interface SimulationOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** Returns the address at which the kubelet API of the node with this number is reached. Default: an address of 10.0.0.0/8. */
  readonly addressOf?: (index: number) => string;
  /** Returns the port of the kubelet API; 0 while it is not served. Default: 0. */
  readonly kubeletPort?: () => number;
  readonly seed?: string;
  /** The number of the first node, and of all nodes, when other processes run the rest. Default: these nodes are all. */
  readonly part?: { readonly first: number; readonly total: number };
  /** Capacity of each node, in addition to or in place of 32 CPUs, 256 GiB, 1 TiB of storage and 110 pods. */
  readonly capacity?: ResourceList;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: NonNullable<NonNullable<Node['spec']>['taints']>;
  /** Default: 40. */
  readonly leaseDurationSeconds?: number;
  /** The time between two reports of an unchanged node status, ms. Default: 5 min. */
  readonly reportIntervalMs?: number;
  /** Whether the kubelet of the pod's node leaves the pod to others, such as stages. Default: false. */
  readonly isPlayed?: (pod: Pod) => boolean;
  /** What containers answer by objects of the cluster. */
  readonly answers?: SimulatedAnswers;
}

/** Requests for nodes that are sent at once: registrations, leases and statuses. */
const nodesAtOnce = 24;

const gib = 1024 ** 3;

/** A node with the end of its heartbeats. */
interface Member {
  readonly index: number;
  readonly keeper: NodeKeeper;
  readonly node: SimulatedNode;
  readonly ends: (() => void)[];
  beats: boolean;
}

/**
 * Simulation runs many nodes in one process: each with a pods controller, lease, heartbeats, statuses and pod addresses of its own, all with
 * one API client, one informer of pods and one clock.
 * @example
 * const simulation = new Simulation({ client, clock: systemClock, nodes: ['node-0', 'node-1'] });
 * await simulation.run(signal);
 */
export class Simulation implements FaultTarget {
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly chance: KeyedRandom;
  readonly #options: SimulationOptions;
  readonly #logger: Logger;
  readonly #members = new Map<string, Member>();
  /** The nodes whose address no other node has. */
  readonly #byAddress = new Map<string, SimulatedNode | undefined>();
  readonly #podAddresses = new Map<string, () => string>();
  readonly #heartbeats: Heartbeats;
  /** The clock of all kubelets. */
  readonly #timers: SharedTimers;
  readonly #lanes = new Lanes(nodesAtOnce);
  readonly #podCount = new ReadyCount<Pod>(podIsReady);
  readonly #nodeCount = new ReadyCount<Node>(nodeIsReady);
  readonly #recorder: EventBroadcaster;
  readonly #registered = new Latch();
  /** What is called at a change of a pod, by its UID. */
  readonly #followers = new Map<string, Set<(pod?: Pod) => void>>();
  #failedHeartbeats = 0;
  #heartbeatCount = 0;

  constructor(options: SimulationOptions) {
    const { client, clock, logger = silentLogger, seed = '0' } = options;
    this.#options = options;
    this.#logger = logger;
    this.chance = new KeyedRandom(seed);
    this.#heartbeats = new Heartbeats(clock);
    this.#timers = new SharedTimers(clock);
    const deps = { client, clock, logger, random: this.chance.of('informers') };
    this.#recorder = new EventBroadcaster(deps, { host: 'podtender-simulate', qps: 0, maxWaiting: 10_000 });
    this.nodes = new Informer<Node>(deps, nodeResource, { labelSelector: `${simulatedLabel}=true` });
    this.pods = new Informer<Pod>(deps, podResource, {
      fieldSelector: 'spec.nodeName!=',
      indexers: { node: (pod) => [pod.spec?.nodeName ?? ''] },
    });
    const { first = 0 } = options.part ?? {};
    options.nodes.forEach((name, index) => {
      this.#add(name, first + index);
    });
  }

  /** The nodes and pods, and how many of them are Ready. */
  get counts(): SimulationCounts {
    const { total: nodes, ready: nodesReady } = this.#nodeCount;
    const { total: pods, ready: podsReady } = this.#podCount;
    return { nodes, nodesReady, pods, podsReady };
  }

  /** Heartbeats that were sent, and those that failed. */
  get heartbeats(): { readonly sent: number; readonly failed: number } {
    return { sent: this.#heartbeatCount, failed: this.#failedHeartbeats };
  }

  /** Resolves when every node was registered once; rejects when `signal` aborts first. */
  registered(signal?: AbortSignal): Promise<void> {
    return this.#registered.wait(signal);
  }

  /** Returns a node of this simulation. */
  node(name: string): SimulatedNode | undefined {
    return this.#members.get(name)?.node;
  }

  /** Returns the node that has this address. */
  nodeAt(address: string): SimulatedNode | undefined {
    return this.#byAddress.get(address);
  }

  /** Returns a pod that is bound to a node, as last seen. */
  pod(namespace: string, name: string): Pod | undefined {
    return this.pods.store.get([namespace, name].join('/'));
  }

  /** Whether the pod is bound to a node of this simulation. */
  isOwn = (pod: Pod): boolean => this.#members.has(pod.spec?.nodeName ?? '');

  /** Runs until `signal` aborts: registers the nodes, runs their pods and sends heartbeats. */
  async run(signal: AbortSignal): Promise<void> {
    const off = [this.#count(), this.#dispatch()];
    const running = [this.nodes.run(signal), this.pods.run(signal)];
    await Promise.all([this.nodes.waitSynced(signal), this.pods.waitSynced(signal)]);
    const ended = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
      if (signal.aborted) resolve();
    });
    const joined = [...this.#members.values()].map((member) => this.#join(member, signal));
    void Promise.all(joined).then(() => {
      if (!signal.aborted) this.#registered.open();
    });
    await ended;
    for (const end of off) end();
    this.#heartbeats.stop();
    await Promise.allSettled(joined);
    await Promise.all([...this.#members.values()].map(({ node }) => node.stop()));
    await Promise.all(running);
    this.#recorder.stop();
  }

  /** Replaces parts of a node's status from its next report on. @param source what sets them */
  overlay(name: string, source: string, overlay: NodeOverlay | undefined): void {
    this.#memberOf(name).keeper.setOverlay(source, overlay);
  }

  /** Lets a node claim amounts that it does not have, and reports it at once; `undefined` ends that. */
  async claim(name: string, amounts: ResourceList | undefined): Promise<void> {
    const { keeper } = this.#memberOf(name);
    keeper.setOverlay('fault', amounts && { capacity: amounts, allocatable: amounts });
    await this.#lanes.run(() => keeper.report(new AbortController().signal));
  }

  disconnect(name: string): void {
    this.#memberOf(name).node.disconnect();
  }

  reconnect(name: string): void {
    this.#memberOf(name).node.reconnect();
  }

  /** Restarts the kubelet of a node, or its whole machine. */
  restart(name: string, machineToo: boolean): Promise<void> {
    return this.#memberOf(name).node.restart(machineToo);
  }

  /** Returns the next free address for a pod of a node. */
  podAddress(node: string): string {
    return this.#podAddresses.get(node)?.() ?? '';
  }

  /** Returns the pods of a node that its kubelet leaves to others. */
  playedPodsOf(name: string): PlayedPods {
    const { isPlayed = () => false } = this.#options;
    return {
      list: () => this.pods.store.byIndex('node', name).filter(isPlayed),
      makeProvider: () => this.#makeProvider(name),
      follow: (uid, changed) => {
        const followers = this.#followers.get(uid) ?? new Set();
        this.#followers.set(uid, followers.add(changed));
        return () => {
          followers.delete(changed);
          if (followers.size === 0) this.#followers.delete(uid);
        };
      },
    };
  }

  /** The broadcaster of Events. */
  get recorder(): EventRecorder {
    return this.#recorder;
  }

  /** Stops or resumes lease and status of a node. */
  setHeartbeat(name: string, beats: boolean): void {
    this.#memberOf(name).beats = beats;
  }

  #memberOf(name: string): Member {
    const member = this.#members.get(name);
    if (member) return member;
    throw new AgentError('not_found', `node ${name} is not part of this simulation`);
  }

  #add(name: string, index: number): void {
    const { client, clock, leaseDurationSeconds = 40, reportIntervalMs = 300_000 } = this.#options;
    const { nodes, chance } = this;
    const keeper = new NodeKeeper(
      {
        ...{ client, clock, leaseDurationSeconds, reportIntervalMs },
        logger: this.#logger,
        recorder: this.#recorder.recorderOf(name),
        nodes: { cache: nodes.knownObjects, get: (key) => nodes.store.get(key) },
      },
      {
        identity: {
          ...{ name, hostname: name, operatingSystem: 'linux', architecture: 'amd64' },
          labels: { [simulatedLabel]: 'true', ...this.#options.labels },
          ...(this.#options.taints && { taints: this.#options.taints }),
        },
        setters: this.#setters(name, index),
        random: chance.of('node', name),
      },
    );
    const { total = this.#options.nodes.length } = this.#options.part ?? {};
    this.#podAddresses.set(name, podAddresses(index, total));
    const { isPlayed = () => false } = this.#options;
    const node = new SimulatedNode(
      {
        ...{ client, clock: this.#timers, logger: this.#logger, knownPods: this.pods.knownObjects },
        recorderOf: (host) => this.#recorder.recorderOf(host),
        podsOf: (host) => this.pods.store.byIndex('node', host).filter((pod) => !isPlayed(pod)),
        makeProvider: () => this.#makeProvider(name),
      },
      { name, address: this.#addressOf(index), node: () => keeper.node, random: chance.of('kubelet', name) },
    );
    this.#byAddress.set(node.address, this.#byAddress.has(node.address) ? undefined : node);
    this.#members.set(name, { index, keeper, node, ends: [], beats: true });
  }

  #makeProvider(node: string): SimulatedProvider {
    const { clock, answers } = this.#options;
    return new SimulatedProvider({
      ...{ clock, node },
      podIP: () => this.podAddress(node),
      podOf: (namespace, name) => this.pod(namespace, name),
      ...(answers && { answers }),
    });
  }

  #addressOf(index: number): string {
    const { addressOf = (at) => `10.${192 + ((at >> 16) & 63)}.${(at >> 8) & 255}.${at & 255}` } =
      this.#options;
    return addressOf(index);
  }

  #setters(name: string, index: number): ReturnType<typeof nodeSetters> {
    const { capacity, kubeletPort = () => 0 } = this.#options;
    const random = this.chance.of('machine', name);
    const machine = {
      ...{ numCores: 32, memoryCapacity: 256 * gib },
      machineId: random.hex(16),
      systemUuid: random.uuid(),
      bootId: random.uuid(),
    };
    const system = {
      kernelVersion: '6.12.0-simulated',
      osImage: 'podtender simulated node',
      operatingSystem: 'linux',
      architecture: 'amd64',
    };
    const { pods, ...rest } = capacity ?? {};
    return nodeSetters({
      machine: {
        ...{ machine, system, hostname: name, addresses: [] },
        storage: { 'ephemeral-storage': String(1024 * gib) },
      },
      nodeName: name,
      nodeIPs: [this.#addressOf(index)],
      settings: {
        runtimeVersion: () => 'memory://1.0.0',
        ...(pods !== undefined && { maxPods: Number(pods) }),
        ...(Object.keys(rest).length > 0 && { capacity: rest }),
      },
      kubeletPort,
    });
  }

  /** Registers a node, then starts its heartbeats, spread over their periods. */
  async #join(member: Member, signal: AbortSignal): Promise<void> {
    const { keeper, ends } = member;
    const { leaseDurationSeconds = 40 } = this.#options;
    await this.#lanes.run(async () => {
      if (signal.aborted) return;
      await keeper.register(signal);
      await this.#beat(member, 'lease', signal);
    });
    if (signal.aborted) return;
    const leaseMs = leaseDurationSeconds * 250;
    const add = (periodMs: number, kind: 'lease' | 'status'): void => {
      const offsetMs = this.chance.float(kind, keeper.name) * periodMs;
      ends.push(
        this.#heartbeats.add(periodMs, offsetMs, () => {
          void this.#lanes.run(() => this.#beat(member, kind, signal));
        }),
      );
    };
    add(leaseMs, 'lease');
    add(statusMs, 'status');
  }

  async #beat({ keeper, node, beats }: Member, kind: 'lease' | 'status', signal: AbortSignal): Promise<void> {
    if (!beats || node.isCutOff || signal.aborted) return;
    this.#heartbeatCount += 1;
    try {
      await (kind === 'lease' ? keeper.renew(signal) : keeper.report(signal));
    } catch (reason) {
      if (isAborted(signal)) return;
      this.#failedHeartbeats += 1;
      this.#logger.warn('heartbeat failed', { node: keeper.name, kind, err: messageOf(reason) });
    }
  }

  #count(): () => void {
    const { isOwn } = this;
    const own = (act: (pod: Pod) => void) => (pod: Pod) => {
      if (isOwn(pod)) act(pod);
    };
    const pods = this.pods.addHandler({
      added: own((pod) => {
        this.#podCount.added(pod);
      }),
      updated: (_old, pod) => {
        if (!isOwn(pod)) return;
        this.#podCount.updated(pod);
        for (const changed of this.#followers.get(uidOf(pod)) ?? []) changed(pod);
      },
      deleted: own((pod) => {
        this.#podCount.deleted(pod);
        for (const changed of this.#followers.get(uidOf(pod)) ?? []) changed();
      }),
    });
    const members = this.#members;
    const isMember = ({ metadata }: Node): boolean => members.has(metadata?.name ?? '');
    const nodes = this.nodes.addHandler({
      added: (node) => {
        if (isMember(node)) this.#nodeCount.added(node);
      },
      updated: (_old, node) => {
        if (isMember(node)) this.#nodeCount.updated(node);
      },
      deleted: (node) => {
        if (isMember(node)) this.#gone(node);
      },
    });
    return () => {
      pods.remove();
      nodes.remove();
    };
  }

  /** Ends the heartbeats of a node that was deleted; as with the kubelet, it does not register again. Its pods run on until they are deleted. */
  #gone(node: Node): void {
    this.#nodeCount.deleted(node);
    for (const end of this.#members.get(node.metadata?.name ?? '')?.ends.splice(0) ?? []) end();
  }

  /** Delivers each burst of pod changes to the nodes that it concerns. */
  #dispatch(): () => void {
    const { isPlayed = () => false } = this.#options;
    const subscription = this.pods.bursts().subscribe((burst) => {
      for (const [name, changes] of changesByNode(burst, isPlayed))
        this.#members.get(name)?.node.deliver(changes);
    });
    return () => {
      subscription.unsubscribe();
    };
  }
}

/** The time between two looks at a node's status, ms. An unchanged status is sent less often. */
const statusMs = 60_000;

interface NodeChanges {
  readonly set: Pod[];
  readonly gone: Pod[];
}

function changesByNode(
  { objects, changes }: Burst<Pod>,
  isPlayed: (pod: Pod) => boolean,
): ReadonlyMap<string, NodeChanges> {
  const byNode = new Map<string, NodeChanges>();
  const of = ({ spec }: Pod): NodeChanges => {
    const name = spec?.nodeName ?? '';
    const existing = byNode.get(name);
    if (existing) return existing;
    const fresh: NodeChanges = { set: [], gone: [] };
    byNode.set(name, fresh);
    return fresh;
  };
  for (const pod of changes?.set ?? objects) if (!isPlayed(pod)) of(pod).set.push(pod);
  for (const pod of changes?.gone ?? []) if (!isPlayed(pod)) of(pod).gone.push(pod);
  return byNode;
}

/** Returns the addresses of a node's pods, one a call: those of its share of 10.0.0.0/9, in order. */
function podAddresses(index: number, nodes: number): () => string {
  const share = Math.max(1, Math.floor(0x7fffff / Math.max(1, nodes)));
  let next = 0;
  return () => {
    const n = 1 + index * share + (next++ % share);
    return `10.${(n >> 16) & 127}.${(n >> 8) & 255}.${n & 255}`;
  };
}
