import { ownMember } from '../base/own.ts';
import { compareVersions } from '../api/versions.ts';
import { messageOf } from '../base/errors.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Node } from '../kube/types.ts';
import type { NodeClient } from './clients.ts';
import { foldSetters, type NodeEvent, type NodeStatusSetter } from './setters/setter.ts';
import { nodeStatusPatch, statusChanged } from './status-patch.ts';

/** Dependencies of StatusUpdater. */
export interface StatusUpdaterDeps {
  readonly nodes: NodeClient;
  readonly name: string;
  /** Labels that each update restores on the Node. */
  readonly labels: Readonly<Record<string, string>>;
  /** Returns the Node from a watch; `undefined`: it has none. Absent: there is no watch. */
  readonly watched?: () => Node | undefined;
  readonly setters: readonly NodeStatusSetter[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly record: (event: NodeEvent) => void;
  readonly onHeartbeatFailure?: () => void;
  readonly reportIntervalMs: number;
}

const maxTries = 5;

/**
 * StatusUpdater computes the node's status and sends changes; an unchanged status is sent only periodically (R256, R257). Rounds never
 * overlap.
 *
 * Follows kubelet `syncNodeStatus`, `tryUpdateNodeStatus`.
 */
export class StatusUpdater {
  readonly #deps: StatusUpdaterDeps;
  #node: Node | undefined;
  #reportedAt: number | undefined;
  /** Random offset of the next periodic report, up to half the interval, so that nodes do not report at the same time. */
  #shiftMs = 0;
  #unschedulable = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: StatusUpdaterDeps) {
    this.#deps = deps;
  }

  /** The Node as last read or written. */
  get node(): Node | undefined {
    return this.#node;
  }

  /** Stores a Node that another part of the agent has read or written. */
  adopt(node: Node): void {
    this.#node = node;
  }

  /** Returns `node` with its current status. */
  async compute(node: Node): Promise<Node> {
    const { setters, clock, logger, record } = this.#deps;
    const { node: next, events, errors } = await foldSetters(setters, node, clock.now());
    for (const event of events) record(event);
    for (const err of errors) logger.warn('a part of the node status could not be determined', { err });
    return next;
  }

  /** Runs one round. @throws the last error when all attempts failed */
  update(signal: AbortSignal): Promise<void> {
    const round = this.#turn.then(() => this.#tries(signal));
    this.#turn = round.catch(() => undefined);
    return round;
  }

  async #tries(signal: AbortSignal): Promise<void> {
    let failure: unknown;
    for (let tries = 0; tries < maxTries && !signal.aborted; tries++) {
      try {
        await this.#once(tries, signal);
        return;
      } catch (reason) {
        failure = reason;
        if (tries > 0) this.#deps.onHeartbeatFailure?.();
        this.#deps.logger.debug('the node status could not be sent', { err: messageOf(reason), tries });
      }
    }
    if (!signal.aborted) throw failure;
  }

  /** Returns the cached Node. A watch may lag behind the last write of this agent. */
  #cached(): Node | undefined {
    const { watched } = this.#deps;
    if (!watched) return this.#node;
    const seen = watched();
    return seen && this.#node && isOlder(seen, this.#node) ? this.#node : seen;
  }

  /** Makes one attempt: the first uses the cached Node, the others read it. */
  async #once(tries: number, signal: AbortSignal): Promise<void> {
    const { nodes, name, labels, clock, random, reportIntervalMs } = this.#deps;
    const options = { signal, timeoutMs: 10_000 };
    const cached = tries === 0 ? this.#cached() : undefined;
    const before = cached ?? (await nodes.get(name, options));
    const computed = await this.compute(before);
    this.#tellSchedulable(before);
    const next = withLabels(computed, labels);
    const changed = statusChanged(before.status, next.status) || next !== computed;
    const due =
      this.#reportedAt === undefined ||
      steadyNow(clock) - this.#reportedAt >= reportIntervalMs + this.#shiftMs;
    if (!changed && !due) return;
    const body = nodeStatusPatch(before, next);
    this.#node = body
      ? await nodes.patch(name, { type: 'strategic', body }, { ...options, subresource: 'status' })
      : before;
    if (changed || this.#reportedAt === undefined) this.#shiftMs = (random.float() - 0.5) * reportIntervalMs;
    else this.#shiftMs = 0;
    this.#reportedAt = steadyNow(clock);
  }

  #tellSchedulable(node: Node): void {
    const now = node.spec?.unschedulable === true;
    if (now === this.#unschedulable) return;
    this.#unschedulable = now;
    const reason = now ? 'NodeNotSchedulable' : 'NodeSchedulable';
    this.#deps.record({
      type: 'Normal',
      reason,
      message: `Node ${this.#deps.name} status is now: ${reason}`,
    });
  }
}

const isOlder = ({ metadata: one }: Node, { metadata: other }: Node): boolean =>
  (compareVersions(one?.resourceVersion ?? '', other?.resourceVersion ?? '') ?? 0) < 0;

/** Returns the node with the labels; the same object when it has them. */
function withLabels(node: Node, required: Readonly<Record<string, string>>): Node {
  const { labels = {} } = node.metadata ?? {};
  if (Object.entries(required).every(([name, value]) => ownMember(labels, name) === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...required } } };
}
