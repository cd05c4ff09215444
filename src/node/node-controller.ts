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

/** Namespace of node leases. */
export const nodeLeaseNamespace = 'kube-node-lease';

/** Time limit of the exit policy, ms. */
const exitMs = 10_000;

/** Default time limit of a ping, ms: that of the kubelet's runtime calls. */
const defaultPingTimeoutMs = 120_000;

const agentNotReady = 'the agent has not seen all of its pod sources yet';
/** Interval and duration of checking at start whether the node is ready (R261). */
const fastIntervalMs = 100;
const fastLimitMs = 120_000;

/**
 * NodeController represents the node in the cluster: registers it, renews its lease, and updates its status. The node becomes Ready only
 * after {@link notifyAgentReady}, while the provider's pings succeed.
 *
 * The API follows virtual-kubelet `node.NodeController` and kuscia `framework.NodeController`; the behaviour follows the kubelet.
 * @example
 * const controller = new NodeController('', provider, nodes, leases, { identity, clock, setters });
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

  /** @param namespace namespace of the node's lease; `''`: `kube-node-lease` */
  // eslint-disable-next-line @typescript-eslint/max-params -- virtual-kubelet's signature
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

  /** True when the API server has had the node as Ready at least once. */
  get ready(): boolean {
    return this.#ready.isOpen;
  }

  /** Resolves when the node is Ready for the first time. */
  waitReady(signal?: AbortSignal): Promise<void> {
    return this.#ready.wait(signal);
  }

  /** Marks the agent as ready, i.e. all pod sources were synced once: the node may become Ready. */
  notifyAgentReady(): void {
    this.#agentReady.open();
    this.#kick.abort();
  }

  /** Resolves after {@link notifyAgentReady}. */
  waitAgentReady(signal?: AbortSignal): Promise<void> {
    return this.#agentReady.wait(signal);
  }

  /** Returns the Node as last read from or written to the API server. */
  getNode(): Node | undefined {
    return this.#updater.node;
  }

  /** Updates the status now instead of in the next round, after something in it has changed. */
  async refresh(): Promise<void> {
    if (this.#updater.node) await this.#update(this.#stopped.signal);
  }

  /**
   * Registers and maintains the node until `signal` aborts or {@link stop} is called.
   *
   * @throws {AgentError} `failed_precondition` when called twice; an error that `onStatusUpdateError` throws
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new AgentError('failed_precondition', 'a node controller runs only once');
    const own = AbortSignal.any([signal, this.#stopped.signal]);
    this.#running = this.#run(own);
    await this.#running;
  }

  /** Ends {@link run}, then applies the exit policy. The lease is renewed until then, as draining takes time (R262). */
  async stop(): Promise<void> {
    this.#leaving = true;
    const { clock } = this.#config;
    const done = new AbortController();
    const patience = clock.sleep(exitMs, done.signal).then(() => {
      throw new AgentError('deadline_exceeded', `the API server does not answer within ${exitMs} ms`);
    });
    await Promise.race([this.#exit(), patience]).catch((reason: unknown) => {
      this.#logger.warn('the exit policy could not be applied', { err: messageOf(reason) });
    });
    done.abort();
    await patience.catch(() => undefined);
    this.#stopped.abort();
    await this.#running?.catch(() => undefined);
  }

  /** Resolves after the first attempt to renew the node's lease; at once when there is none. */
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

  /** Checks every 100 ms whether the node is ready before the first status is sent; after two minutes it is sent anyway (R261). */
  async #firstReady(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const until = steadyNow(clock) + fastLimitMs;
    while (!signal.aborted && steadyNow(clock) < until && this.#fault() !== undefined) {
      await this.#pause(fastIntervalMs, signal);
    }
  }

  /** Sleeps; returns early when the readiness may have changed. */
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

  /** Returns why the node is not ready, besides the reasons in the configuration. */
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
        const runtimeFaults = [runtime].flat();
        const own = this.#fault();
        const faults = runtimeFaults.length > 0 || own === undefined ? runtimeFaults : [own];
        return readyCondition(node, now, { ...others, runtime: faults }, localStorage);
      },
    ];
  }

  readonly #record = ({ type, reason, message }: NodeEvent): void => {
    const { name } = this.#config.identity;
    this.#config.recorder?.event(
      { kind: 'Node', apiVersion: 'v1', metadata: { name, uid: name } }, // clients select node events by this UID
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
