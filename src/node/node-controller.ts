import { steadyNow } from '../base/clock.ts';
import { isNotFound } from '../api/client.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Node } from '../kube/types.ts';
import type { NodeProvider } from '../provider/provider.ts';
import type { LeaseClient, NodeClient } from './clients.ts';
import { LeaseKeeper } from './lease.ts';
import type { NodeControllerConfig } from './node-config.ts';
import { PingLoop } from './ping.ts';
import { initialNode, platformLabels, registerNode } from './register.ts';
import { readyCondition } from './setters/conditions.ts';
import type { NodeEvent, NodeStatusSetter } from './setters/setter.ts';
import { StatusUpdater } from './status-updater.ts';

/** Where leases of nodes are. */
export const nodeLeaseNamespace = 'kube-node-lease';

/** How long leaving the node may take, ms. */
const exitMs = 10_000;

/** How long a ping may take, ms: as the kubelet's calls to its runtime. */
const defaultPingTimeoutMs = 120_000;

const agentNotReady = 'the agent has not seen all of its pod sources yet';
/** How often and how long the start looks for the moment when the node is ready (R261). */
const fastIntervalMs = 100;
const fastLimitMs = 120_000;

/**
 * The node as the cluster sees it: registers it, renews its lease, and keeps its status true. The node becomes Ready only after
 * {@link notifyAgentReady}, while the provider answers its pings.
 *
 * Shape after virtual-kubelet `node.NodeController` and kuscia `framework.NodeController`; behaviour after the kubelet.
 */
export class NodeController {
  readonly #nodes: NodeClient;
  readonly #config: NodeControllerConfig;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #agentReady = new Latch();
  readonly #ready = new Latch();
  readonly #stopped = new AbortController();
  readonly #ping: PingLoop;
  readonly #lease: LeaseKeeper;
  readonly #updater: StatusUpdater;
  #running: Promise<void> | undefined;
  #leaving = false;
  #kick = new AbortController();

  /** @param namespace where the node's lease is; `''`: `kube-node-lease` */
  // eslint-disable-next-line @typescript-eslint/max-params -- the shape that virtual-kubelet's users know
  constructor(
    namespace: string,
    provider: NodeProvider,
    nodes: NodeClient,
    leases: LeaseClient,
    config: NodeControllerConfig,
  ) {
    const { clock, leaseDurationSeconds: duration = 40 } = config;
    const { name } = config.identity;
    this.#nodes = nodes;
    this.#config = config;
    this.#random = config.random ?? systemRandom;
    this.#logger = (config.logger ?? silentLogger).with({ node: name });
    this.#ping = new PingLoop(provider, clock, {
      intervalMs: config.pingIntervalMs ?? 10_000,
      timeoutMs: config.pingTimeoutMs ?? defaultPingTimeoutMs,
    });
    const { onHeartbeatFailure } = config;
    const shared = {
      clock,
      random: this.#random,
      logger: this.#logger,
      ...(onHeartbeatFailure && { onHeartbeatFailure }),
    };
    this.#updater = new StatusUpdater({
      ...shared,
      nodes,
      name,
      labels: platformLabels(config.identity),
      ...(config.watchedNode && { watched: config.watchedNode }),
      setters: this.#setters(),
      record: this.#record,
      reportIntervalMs: config.statusReportIntervalMs ?? 300_000,
    });
    const leaseDeps = {
      ...shared,
      leases,
      getNode: (signal: AbortSignal) => nodes.get(name, { signal, timeoutMs: 10_000 }),
      onDuplicate: (lease: Parameters<NonNullable<NodeControllerConfig['onDuplicate']>>[0]) => {
        this.#record({
          type: 'Warning',
          reason: 'DuplicateNode',
          message: `another agent renews the lease of node ${name}: two agents must not have one node name`,
        });
        this.#logger.error('another agent runs under this node name', { holder: lease.spec?.holderIdentity });
        config.onDuplicate?.(lease);
      },
    };
    this.#lease = new LeaseKeeper(leaseDeps, {
      name,
      namespace: namespace === '' ? nodeLeaseNamespace : namespace,
      durationSeconds: duration,
      renewIntervalMs: config.leaseRenewIntervalMs ?? duration * 250,
    });
  }

  /** The node was Ready at the API server at least once. */
  get ready(): boolean {
    return this.#ready.isOpen;
  }

  /** Resolves when the node was Ready for the first time. */
  waitReady(signal?: AbortSignal): Promise<void> {
    return this.#ready.wait(signal);
  }

  /** All sources of pods have been seen and synced once: the node may become Ready. */
  notifyAgentReady(): void {
    this.#agentReady.open();
    this.#kick.abort();
  }

  /** Resolves after {@link notifyAgentReady}. */
  waitAgentReady(signal?: AbortSignal): Promise<void> {
    return this.#agentReady.wait(signal);
  }

  /** The Node as last read from or written to the API server. */
  getNode(): Node | undefined {
    return this.#updater.node;
  }

  /** Something that goes into the status has changed: looks at once instead of at the next round. */
  async refresh(): Promise<void> {
    if (this.#updater.node) await this.#update(this.#stopped.signal);
  }

  /**
   * Registers and keeps the node until `signal` aborts or {@link stop}.
   *
   * @throws {AgentError} `failed_precondition` when run twice; what `onStatusUpdateError` throws
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a node controller runs only once');
    const own = AbortSignal.any([signal, this.#stopped.signal]);
    this.#running = this.#run(own);
    await this.#running;
  }

  /** Ends {@link run}, then does what the exit policy says. The lease is renewed until then, for draining takes time (R262). */
  async stop(): Promise<void> {
    this.#leaving = true;
    const { clock } = this.#config;
    const done = new AbortController();
    const patience = clock.sleep(exitMs, done.signal).then(() => {
      throw new AgentError('deadline_exceeded', `the API server does not answer within ${exitMs} ms`);
    });
    await Promise.race([this.#exit(), patience]).catch((reason: unknown) => {
      this.#logger.warn('the node could not be left as the exit policy says', { err: messageOf(reason) });
    });
    done.abort();
    await patience.catch(() => undefined);
    this.#stopped.abort();
    await this.#running?.catch(() => undefined);
  }

  /** Resolves once the node's lease was tried to be renewed for the first time; at once where there is none. */
  leaseTried(): Promise<void> {
    return this.#withLease ? this.#lease.tried() : Promise.resolve();
  }

  get #withLease(): boolean {
    return (this.#config.leaseDurationSeconds ?? 40) > 0;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const loops = [
      this.#ping.run(() => {
        const { fault } = this.#ping;
        if (fault === undefined) this.#logger.info('the provider answers pings');
        else this.#logger.error('the provider cannot run pods', { step: 'ping', err: fault });
        this.#kick.abort();
        if (this.#ready.isOpen) void this.refresh().catch(() => undefined);
      }, signal),
      ...(this.#withLease ? [this.#lease.run(signal)] : []),
      this.#statusLoop(signal),
    ];
    await Promise.all(loops);
  }

  async #statusLoop(signal: AbortSignal): Promise<void> {
    await this.#register(signal);
    await this.#firstReady(signal);
    while (!signal.aborted) {
      await this.#round(signal);
      await this.#config.clock
        .sleep(this.#config.statusUpdateIntervalMs ?? 10_000, signal)
        .catch(() => undefined);
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { identity, clock } = this.#config;
    if (this.#config.registerNode === false) return;
    const optionalLabels = Object.keys(identity.optionalLabels ?? {});
    const deps = { nodes: this.#nodes, clock, logger: this.#logger, optionalLabels };
    const node = await registerNode(deps, () => this.#updater.compute(initialNode(identity)), signal);
    if (!node) return;
    this.#updater.adopt(node);
    this.#lease.nodeIsThere();
  }

  /** Looks every 100 ms whether the node would be ready, and only then sends; after two minutes it sends what is (R261). */
  async #firstReady(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const until = steadyNow(clock) + fastLimitMs;
    while (!signal.aborted && steadyNow(clock) < until && this.#fault() !== undefined) {
      await this.#pause(fastIntervalMs, signal);
    }
  }

  /** Sleeps, unless something that decides about readiness happens. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#kick.signal.aborted) this.#kick = new AbortController();
    const either = AbortSignal.any([signal, this.#kick.signal]);
    await this.#config.clock.sleep(ms, either).catch(() => undefined);
  }

  async #round(signal: AbortSignal): Promise<void> {
    try {
      await this.#update(signal);
    } catch (reason) {
      if (signal.aborted) return;
      if (isNotFound(reason) && this.#config.registerAgain === true) {
        this.#logger.warn('the node was deleted; registering it again');
        await this.#register(signal);
        return;
      }
      this.#logger.warn('the node status could not be sent', { err: messageOf(reason) });
      await this.#config.onStatusUpdateError?.(reason);
    }
  }

  async #update(signal: AbortSignal): Promise<void> {
    await this.#updater.update(signal);
    const ready = this.#updater.node?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True' && this.#agentReady.isOpen) this.#ready.open();
  }

  /** What keeps the node from being ready beside what the config knows. */
  #fault(): string | undefined {
    if (this.#leaving && this.#config.exitPolicy !== undefined && this.#config.exitPolicy !== 'keep')
      return 'the agent is stopping';
    return this.#agentReady.isOpen ? this.#ping.fault : agentNotReady;
  }

  #setters(): readonly NodeStatusSetter[] {
    const { setters, readyFaults, localStorage = true } = this.#config;
    return [
      ...setters,
      (node, now) => {
        const { runtime = [], ...others } = readyFaults?.() ?? {};
        const told = [runtime].flat();
        const own = this.#fault();
        const faults = told.length > 0 || own === undefined ? told : [own];
        return readyCondition(node, now, { ...others, runtime: faults }, localStorage);
      },
    ];
  }

  readonly #record = ({ type, reason, message }: NodeEvent): void => {
    const { name } = this.#config.identity;
    this.#config.recorder?.event(
      { kind: 'Node', apiVersion: 'v1', metadata: { name, uid: name } }, // readers look for events by this UID
      type,
      reason,
      message,
    );
  };

  async #exit(): Promise<void> {
    const { exitPolicy = 'keep', identity } = this.#config;
    const { signal } = this.#stopped;
    const options = { signal, timeoutMs: exitMs };
    if (exitPolicy === 'keep' || !this.#updater.node) return;
    if (exitPolicy === 'delete') {
      await this.#nodes.delete(identity.name, options);
      return;
    }
    await this.#update(signal);
    if (exitPolicy === 'cordon')
      await this.#nodes.patch(
        identity.name,
        { type: 'strategic', body: { spec: { unschedulable: true } } },
        options,
      );
  }
}
