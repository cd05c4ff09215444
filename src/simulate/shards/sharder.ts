import { LeaderElector } from '../../api/leaderelection/leader-elector.ts';
import type { ApiClient } from '../../api/client.ts';
import { isAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { ShardMembers } from './shard-members.ts';

/** The part of a simulation's nodes that one process runs at a time. */
export interface RunningShard {
  /** Ends the shard's nodes; their objects and their pods stay. */
  close(): Promise<void>;
}

/** Options of a Sharder. */
export interface SharderOptions {
  /** Distinguishes the simulation from others in the same cluster, for example by the prefix of its nodes. */
  readonly group: string;
  /** Identifies this process. */
  readonly identity: string;
  readonly shards: number;
  /** How long others wait for a process that no longer renews its leases, ms; at least 1,000. */
  readonly leaseMs: number;
}

/** Dependencies of a Sharder. */
export interface SharderDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Starts a shard that this process has taken. */
  readonly start: (shard: number) => Promise<RunningShard>;
}

/** The namespace of the leases. */
export const shardNamespace = 'kube-system';

/** The time between two attempts, as a share of the lease's duration. */
const retryShare = 2 / 15;
const renewShare = 2 / 3;

/** Returns the shards of a member: in the order of their names, members take turns. */
export function shardsOf(member: string, members: readonly string[], shards: number): readonly number[] {
  const all = [...new Set([...members, member])].sort();
  const place = all.indexOf(member);
  return Array.from({ length: shards }, (_, shard) => shard).filter((shard) => shard % all.length === place);
}

interface Holding {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Sharder shares the shards of a simulation among processes. Each process announces itself with a Lease; a shard belongs to one of those that are
 * alive, which holds the shard's own Lease while it runs it. When a process ends, its shards are taken over at once; when it is killed, after
 * the lease's duration.
 */
export class Sharder {
  readonly #options: SharderOptions;
  readonly #deps: SharderDeps;
  readonly #members: ShardMembers;
  readonly #holdings = new Map<number, Holding>();
  readonly #running = new Set<number>();

  constructor(options: SharderOptions, deps: SharderDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#members = new ShardMembers({ ...options, namespace: shardNamespace }, deps);
  }

  /** The shards that this process runs, in order. */
  get running(): readonly number[] {
    return [...this.#running].sort((a, b) => a - b);
  }

  /** Takes and gives up shards until `signal` aborts; then ends all of them and gives up the leases. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { leaseMs } = this.#options;
    while (!isAborted(signal)) {
      try {
        await this.#members.renew(signal);
        this.#adjust();
      } catch (reason) {
        if (!isAborted(signal)) logger.warn('the shards cannot be shared', { err: messageOf(reason) });
      }
      await clock.sleep(leaseMs * retryShare, signal).catch(() => undefined);
    }
    for (const { stop } of this.#holdings.values()) stop.abort();
    await Promise.all([...this.#holdings.values()].map(({ ended }) => ended));
    await this.#members.leave();
  }

  /** Holds the shards that belong to this process, and no others. */
  #adjust(): void {
    const { identity, shards } = this.#options;
    const own = new Set(shardsOf(identity, this.#members.live, shards));
    for (const [shard, { stop }] of this.#holdings) if (!own.has(shard)) stop.abort();
    for (const shard of own) if (!this.#holdings.has(shard)) this.#take(shard);
  }

  #take(shard: number): void {
    const stop = new AbortController();
    const ended = this.#hold(shard, stop.signal)
      .catch((reason: unknown) => {
        if (!isAborted(stop.signal))
          this.#deps.logger.warn('a shard was lost', { shard, err: messageOf(reason) });
      })
      .finally(() => this.#holdings.delete(shard));
    this.#holdings.set(shard, { stop, ended });
  }

  async #hold(shard: number, signal: AbortSignal): Promise<void> {
    const elector = this.#elector(shard);
    await elector.acquire(signal);
    let lost: unknown;
    const held = elector.hold(signal).catch((reason: unknown) => {
      lost = reason;
    });
    const running = await this.#deps.start(shard);
    this.#running.add(shard);
    await held;
    this.#running.delete(shard);
    await running.close();
    if (lost instanceof Error) throw lost;
    await elector.release();
  }

  #elector(shard: number): LeaderElector {
    const { group, identity, leaseMs } = this.#options;
    return new LeaderElector(this.#deps, {
      id: `podtender-simulate-${group}-shard-${shard}`,
      namespace: shardNamespace,
      ...{ identity, leaseDuration: leaseMs, renewDeadline: leaseMs * renewShare },
      ...{ retryPeriod: leaseMs * retryShare, releaseOnCancel: true },
    });
  }
}
