import type { ApiClient } from '../api/client.ts';
import { ApiError, isForbidden, isNotFound as isApiNotFound } from '../api/client.ts';
import { isAborted } from '../base/abort.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { isNodeSettableLabel } from '../kube/node-labels.ts';
import type { Node } from '../kube/types.ts';
import type { NodeClient } from '../node/clients.ts';
import { LeaseKeeper } from '../node/lease.ts';
import { nodeLeaseNamespace } from '../node/node-controller.ts';
import { PingLoop } from '../node/ping.ts';
import type { NodeProvider } from './contract.ts';
import {
  defaultPingInterval,
  defaultStatusUpdateInterval,
  type NodeControllerOpt,
  type NodeControllerSettings,
  nodesOf,
} from './node-controller-options.ts';
import { updateNodeStatus, withHeartbeats, withReady } from './node-status.ts';

/** The number of refusals in a row (401, 403, 422) after which the registration ends; they take 1.5 s. */
const refusalsToEnd = 5;

const isRestricted = (label: string): boolean => !isNodeSettableLabel(label);

const isRefusal = (reason: unknown): boolean =>
  reason instanceof ApiError && [401, 403, 422].includes(reason.status);

const refused = (name: string, cause: unknown): AgentError =>
  new AgentError(
    AgentError.from(cause).code,
    `the API server refuses to register node ${name}: ${messageOf(cause)}; its identity needs create, get and patch on nodes and patch on nodes/status`,
    { cause },
  );

/**
 * Registers a Node and keeps it: its lease, its status as its provider tells it, and its Ready condition, which is False while the provider's ping
 * fails. What others write to the Node stays.
 *
 * @example
 * const controller = new NodeController(new NaiveNodeProvider(), node, client, withNodeEnableLeaseV1(client));
 * await controller.run(signal);
 */
export class NodeController {
  readonly #provider: NodeProvider;
  readonly #nodes: NodeClient;
  readonly #settings: NodeControllerSettings;
  readonly #ready = new Latch();
  readonly #done = new Latch();
  readonly #posted = new Latch();
  readonly #ping: PingLoop;
  #err: unknown;
  /** As the provider wants it. */
  #desired: Node;
  /** As the API server has it. */
  #server: Node | undefined;
  #wake = new AbortController();
  #running = false;
  /** True once the API server has forbidden labels that a node's own identity may not set; they are left out from then on. */
  #ownLabelsOnly = false;

  /**
   * @param node as it is to be registered
   * @param options as many as one likes
   */
  constructor(
    provider: NodeProvider,
    node: Node,
    nodes: ApiClient | NodeClient,
    ...options: readonly NodeControllerOpt[]
  ) {
    if ((node.metadata?.name ?? '') === '')
      throw new AgentError('invalid_argument', 'the node has no name: set metadata.name');
    this.#provider = provider;
    this.#nodes = nodesOf(nodes);
    this.#desired = structuredClone(node);
    const settings: NodeControllerSettings = {
      pingIntervalMs: defaultPingInterval,
      statusIntervalMs: defaultStatusUpdateInterval,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    };
    for (const option of options) option(settings);
    this.#settings = settings;
    const { clock, logger, pingIntervalMs, pingTimeoutMs } = settings;
    this.#ping = new PingLoop({ ping: (signal) => provider.ping({ signal, logger }) }, clock, {
      intervalMs: pingIntervalMs,
      ...(pingTimeoutMs !== undefined && { timeoutMs: pingTimeoutMs }),
    });
  }

  /** Resolves when the Node is registered and its control loop runs. */
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

  /** Resolves when the API server has the Node as Ready. */
  waitPosted(signal?: AbortSignal): Promise<void> {
    return this.#posted.wait(signal);
  }

  /** The Node as the API server had it last. */
  getNode(): Node | undefined {
    return this.#server;
  }

  /** Keeps the Node until `signal` aborts. @throws what {@link withNodeStatusUpdateErrorHandler} throws, or that the Node may not be registered */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a node controller runs only once');
    this.#running = true;
    const stop = new AbortController();
    const own = AbortSignal.any([signal, stop.signal]);
    const { lease, logger } = this.#settings;
    this.#provider.notifyNodeStatus(
      (node) => {
        this.#changed(node);
      },
      { signal: own, logger },
    );
    try {
      const pings = this.#ping.run(() => {
        this.#wake.abort();
      }, own);
      await this.#register(own);
      const leasing = lease ? this.#leaseKeeper(lease).run(own) : undefined;
      this.#ready.open();
      await this.#loop(own);
      await Promise.all([pings, leasing]);
    } catch (reason) {
      this.#err = reason;
      throw reason;
    } finally {
      stop.abort();
      this.#done.open();
    }
  }

  #changed({ status, metadata }: Node): void {
    const copy = structuredClone({ status, labels: metadata?.labels, annotations: metadata?.annotations });
    this.#desired = {
      ...this.#desired,
      ...(copy.status && { status: copy.status }),
      metadata: {
        ...this.#desired.metadata,
        ...(copy.labels && { labels: copy.labels }),
        ...(copy.annotations && { annotations: copy.annotations }),
      },
    };
    this.#wake.abort();
  }

  #leaseKeeper({
    client,
    durationSeconds,
    renewIntervalMs,
  }: NonNullable<NodeControllerSettings['lease']>): LeaseKeeper {
    const { clock, random, logger } = this.#settings;
    const name = this.#desired.metadata?.name ?? '';
    return new LeaseKeeper(
      {
        leases: client,
        getNode: (signal) => this.#nodes.get(name, { signal, timeoutMs: 10_000 }),
        clock,
        random,
        logger,
      },
      { name, namespace: nodeLeaseNamespace, durationSeconds, renewIntervalMs },
    );
  }

  /**
   * Adopts the existing Node or creates one; retries until it succeeds.
   *
   * @throws {AgentError} when the API server has refused it for {@link refusalsToEnd} times in a row
   */
  async #register(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#settings;
    let refusals = 0;
    for (let pauseMs = 100; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 7000)) {
      try {
        this.#take(await this.#allowed(() => this.#createOrUpdate(signal)));
        return;
      } catch (reason) {
        if (isAborted(signal)) return;
        refusals = isRefusal(reason) ? refusals + 1 : 0;
        if (refusals >= refusalsToEnd) throw refused(this.#desired.metadata?.name ?? '', reason);
        logger.warn('the node could not be registered', { err: messageOf(reason), pauseMs });
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    }
  }

  /** Writes the Node; if that is forbidden, once more without the labels that a node's own identity may not set. */
  async #allowed(write: () => Promise<Node>): Promise<Node> {
    try {
      return await write();
    } catch (reason) {
      const labels = Object.keys(this.#current().metadata?.labels ?? {}).filter(isRestricted);
      if (!isForbidden(reason) || labels.length === 0) throw reason;
      const hint = 'an administrator may set them with kubectl label node';
      this.#settings.logger.warn(`the node may not set some labels and registers without them; ${hint}`, {
        labels,
        err: messageOf(reason),
      });
      this.#ownLabelsOnly = true;
      return write();
    }
  }

  #take(node: Node): void {
    this.#server = node;
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') this.#posted.open();
  }

  async #createOrUpdate(signal: AbortSignal): Promise<Node> {
    const desired = this.#current();
    try {
      return await updateNodeStatus(this.#nodes, desired, signal);
    } catch (reason) {
      if (!isApiNotFound(reason)) throw reason;
    }
    const created = await this.#nodes.create(
      { kind: 'Node', apiVersion: 'v1', ...desired },
      { signal, timeoutMs: 10_000 },
    );
    // what a server leaves out of a new object, and what is to be taken out later
    return updateNodeStatus(
      this.#nodes,
      { ...desired, metadata: { ...desired.metadata, name: created.metadata?.name ?? '' } },
      signal,
    );
  }

  /** The node with heartbeats, and Ready as the ping says. */
  #current(): Node {
    const now = this.#settings.clock.now();
    const node: { -readonly [Key in keyof Node]: Node[Key] } = withHeartbeats(this.#desired, now);
    if (this.#ownLabelsOnly && node.metadata?.labels) {
      const labels = Object.entries(node.metadata.labels).filter(([label]) => !isRestricted(label));
      node.metadata = { ...node.metadata, labels: Object.fromEntries(labels) };
    }
    const { fault } = this.#ping;
    return fault === undefined ? node : withReady(node, false, `provider: ${fault}`, now);
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, lease, pingIntervalMs, statusIntervalMs } = this.#settings;
    const period = lease ? statusIntervalMs : pingIntervalMs;
    while (!signal.aborted) {
      const wake = this.#wake;
      await clock.sleep(period, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
      if (!isAborted(signal)) await this.#report(signal);
    }
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { logger, onStatusUpdateError, clock } = this.#settings;
    try {
      this.#take(await this.#allowed(() => updateNodeStatus(this.#nodes, this.#current(), signal)));
    } catch (reason) {
      if (signal.aborted) return;
      logger.warn('the node status could not be updated', { err: messageOf(reason) });
      if (onStatusUpdateError) {
        await onStatusUpdateError(reason);
        this.#take(await updateNodeStatus(this.#nodes, this.#current(), signal));
      } else {
        await clock.sleep(1000, signal).catch(() => undefined);
        this.#wake.abort();
      }
    }
  }
}
