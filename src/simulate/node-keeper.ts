import { type ApiClient, isConflict, isNotFound } from '../api/client.ts';
import type { KnownObjects } from '../api/cache/known-objects.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource, nodeResource } from '../api/resources.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Lease, Node, NodeCondition, NodeStatus } from '../kube/types.ts';
import type { NodeClient } from '../node/clients.ts';
import { microTimeText } from '../kube/time.ts';
import { initialNode, type NodeIdentity, platformLabels, registerNode } from '../node/register.ts';
import { readyCondition } from '../node/setters/conditions.ts';
import type { NodeEvent, NodeStatusSetter } from '../node/setters/setter.ts';
import { StatusUpdater } from '../node/status-updater.ts';

/** The parts of a node's status that replace what a healthy node reports. */
export interface NodeOverlay {
  /** Conditions by type. */
  readonly conditions?: readonly NodeCondition[];
  readonly capacity?: NonNullable<NodeStatus['capacity']>;
  readonly allocatable?: NonNullable<NodeStatus['allocatable']>;
}

/** Dependencies that the nodes of a simulation share. */
export interface KeeperDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** The Nodes that the simulation's informer holds; a response with a version in here is not parsed. */
  readonly nodes: { readonly cache: KnownObjects<Node>; get(name: string): Node | undefined };
  readonly leaseDurationSeconds: number;
  /** The time between two reports of an unchanged status, ms. */
  readonly reportIntervalMs: number;
}

/** One node of a simulation. */
export interface KeeperOptions {
  readonly identity: NodeIdentity;
  readonly setters: readonly NodeStatusSetter[];
  readonly random: Random;
}

const requestMs = 10_000;
const leaseNamespace = 'kube-node-lease';

/**
 * NodeKeeper maintains one simulated Node: it registers it, renews its lease and reports its status when the simulation calls for it. It has
 * no timer of its own, so an idle node costs its data only.
 */
export class NodeKeeper {
  readonly name: string;
  readonly #deps: KeeperDeps;
  readonly #identity: NodeIdentity;
  readonly #nodes: NodeClient;
  readonly #updater: StatusUpdater;
  #lease: { readonly resourceVersion: string; readonly ownerUid: string } | undefined;
  /** By what sets them; later ones take precedence. */
  readonly #overlays = new Map<string, NodeOverlay>();

  constructor(deps: KeeperDeps, { identity, setters, random }: KeeperOptions) {
    const { clock, logger, nodes } = deps;
    this.name = identity.name;
    this.#deps = deps;
    this.#identity = identity;
    this.#nodes = nodeClient(deps);
    this.#updater = new StatusUpdater({
      clock,
      logger,
      random,
      nodes: this.#nodes,
      name: this.name,
      labels: platformLabels(identity),
      watched: () => nodes.get(this.name) ?? this.#updater.node,
      setters: [...setters, ready, this.#overlaid],
      record: this.#record,
      reportIntervalMs: deps.reportIntervalMs,
    });
  }

  /** The Node as last seen, read or written. */
  get node(): Node | undefined {
    return this.#deps.nodes.get(this.name) ?? this.#updater.node;
  }

  /** Replaces parts of the status from the next report on. @param source what sets them; `undefined` ends what it set before */
  setOverlay(source: string, overlay: NodeOverlay | undefined): void {
    this.#overlays.delete(source);
    if (overlay) this.#overlays.set(source, overlay);
  }

  /** Registers the Node, or adopts an existing one; retries until it succeeds or `signal` aborts. */
  async register(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const deps = { nodes: this.#nodes, clock, logger };
    const make = (): Promise<Node> => this.#updater.compute(initialNode(this.#identity));
    const node = await registerNode(deps, make, signal);
    if (!node) return;
    this.#updater.adopt(node);
    this.#lease = undefined;
  }

  /** Sends the status when it changed or is due. */
  report(signal: AbortSignal): Promise<void> {
    return this.#updater.update(signal);
  }

  /** Renews the lease once; creates it when there is none. */
  async renew(signal: AbortSignal): Promise<void> {
    const leases = new ResourceClient<Lease>(this.#deps.client, leaseResource, leaseNamespace);
    const options = { signal, timeoutMs: requestMs };
    try {
      if (this.#lease) {
        this.#keep(await leases.update(this.#next(this.#lease), options));
        return;
      }
    } catch (reason) {
      if (isAborted(signal) || !(isConflict(reason) || isNotFound(reason))) throw reason;
    }
    const existing = await leases.get(this.name, options).catch((reason: unknown) => {
      if (isNotFound(reason)) return undefined;
      throw reason;
    });
    if (existing) this.#keep(existing);
    const from = { resourceVersion: '', ownerUid: this.node?.metadata?.uid ?? '' };
    const next = this.#next(this.#lease ?? from);
    this.#keep(existing ? await leases.update(next, options) : await leases.create(next, options));
  }

  #keep({ metadata }: Lease): void {
    const uid = this.node?.metadata?.uid ?? metadata?.ownerReferences?.[0]?.uid ?? '';
    this.#lease = { resourceVersion: metadata?.resourceVersion ?? '', ownerUid: uid };
  }

  #next({ resourceVersion, ownerUid }: { resourceVersion: string; ownerUid: string }): Lease {
    const { clock, leaseDurationSeconds } = this.#deps;
    const { name } = this;
    return {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: {
        name,
        namespace: leaseNamespace,
        ...(resourceVersion !== '' && { resourceVersion }),
        ...(ownerUid !== '' && {
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: ownerUid }],
        }),
      },
      spec: { holderIdentity: name, leaseDurationSeconds, renewTime: microTimeText(clock.now()) },
    };
  }

  readonly #overlaid: NodeStatusSetter = (node) => {
    let status = node.status ?? {};
    for (const { conditions = [], capacity, allocatable } of this.#overlays.values()) {
      const types = new Set(conditions.map(({ type }) => type));
      const others = status.conditions?.filter(({ type }) => !types.has(type)) ?? [];
      status = {
        ...status,
        ...(capacity && { capacity: { ...status.capacity, ...capacity } }),
        ...(allocatable && { allocatable: { ...status.allocatable, ...allocatable } }),
        conditions: [...others, ...conditions],
      };
    }
    return { node: this.#overlays.size === 0 ? node : { ...node, status } };
  };

  readonly #record = ({ type, reason, message }: NodeEvent): void => {
    const { name } = this;
    const reference = { kind: 'Node', apiVersion: 'v1', metadata: { name, uid: name } };
    this.#deps.recorder.event(reference, type, reason, message);
  };
}

const ready: NodeStatusSetter = (node, now) => readyCondition(node, now, { runtime: [] }, true);

/** Returns the client of Nodes whose responses need no parsing when the informer has the same version. */
function nodeClient({ client, nodes }: Pick<KeeperDeps, 'client' | 'nodes'>): NodeClient {
  const plain = new ResourceClient<Node>(client, nodeResource);
  return {
    get: (name, options) => client.get(nodeResource, { name }, { ...options, knownObjects: nodes.cache }),
    create: (node, options) => plain.create(node, options),
    patch: (name, patch, options) =>
      client.patch(nodeResource, { name }, patch, { ...options, knownObjects: nodes.cache }),
    delete: (name, options) => plain.delete(name, options),
  };
}
