import { type ApiClient, isAlreadyExists, isConflict, isNotFound } from '../api/client.ts';
import { ResourceClient } from '../api/resource-client.ts';
import { leaseResource } from '../api/resources.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, steadyNow } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Lease } from '../kube/types.ts';
import { microTimeText } from '../node/lease.ts';
import { nextShards } from './shard-plan.ts';

/** Label of the Leases of one simulation; its value is the simulation's name. */
export const shardsLabel = 'podtender.io/simulate-shards';

/** What is done when this process gains or loses a shard. */
export interface ShardOwner {
  /** Starts the nodes of a shard. @param isNew no process has had the shard before */
  take(shard: number, isNew: boolean): void;
  /** Stops the nodes of a shard; resolves when nothing more is sent for them. */
  give(shard: number): Promise<void>;
}

/** Options of a {@link ShardKeeper}. */
export interface ShardOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name of the simulation: all its processes have the same. */
  readonly name: string;
  /** The number of shards: all processes have the same. */
  readonly shards: number;
  /** Identifies this process; a valid part of an object's name. */
  readonly identity: string;
  /** How long a Lease is valid without a renewal, ms. Default: 15 s. */
  readonly leaseMs?: number;
  /** The time between two renewals, ms. Default: 2 s. */
  readonly periodMs?: number;
}

/** A Lease with the time at which this process first saw that version. */
interface Seen {
  readonly lease: Lease;
  readonly at: number;
}

const namespace = 'kube-node-lease';

/**
 * ShardKeeper divides the nodes of a simulation among its processes. Each shard has a Lease, and so has each process; a process holds about as
 * many shards as every other. A Lease that is not renewed expires: the shards of a lost process are taken over. Whether it has expired is
 * judged by the time since its last change was seen, so that the clocks of the processes need not agree.
 */
export class ShardKeeper {
  readonly #options: ShardOptions;
  readonly #owner: ShardOwner;
  readonly #leases: ResourceClient<Lease>;
  readonly #seen = new Map<string, Seen>();
  /** The shards of this process, with the time of their last renewal. */
  readonly #held = new Map<number, number>();

  /** The shards whose Leases this process has tried to create, perhaps without an answer. */
  readonly #fresh = new Set<number>();

  constructor(options: ShardOptions, owner: ShardOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#leases = new ResourceClient<Lease>(options.client, leaseResource, namespace);
  }

  /** The shards that this process holds. */
  get held(): ReadonlySet<number> {
    return new Set(this.#held.keys());
  }

  /** Takes, renews and gives shards until `signal` aborts; then gives all of them, so that others take over at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, periodMs = 2000 } = this.#options;
    while (!isAborted(signal)) {
      await this.#step(signal).catch((reason: unknown) => {
        if (!isAborted(signal))
          logger.warn('the leases of shards could not be read', { err: messageOf(reason) });
      });
      if (!isAborted(signal)) await this.#dropOverdue();
      await clock.sleep(periodMs, signal).catch(() => undefined);
    }
    await Promise.all([...this.#held.keys()].map((shard) => this.#give(shard)));
    await this.#leases.delete(this.#processName(), this.#limit()).catch(() => undefined);
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { name, shards, identity } = this.#options;
    const limit = { ...this.#limit(), signal };
    const { items } = await this.#leases.list({ ...limit, labelSelector: `${shardsLabel}=${name}` });
    this.#observe(items);
    await this.#renewOwn(limit);
    await this.#write(this.#processName(), identity, limit);
    const { held } = this;
    const { give, take } = nextShards({ shards, held, ...this.#others() });
    for (const shard of give) await this.#give(shard);
    for (const shard of take) {
      if (!this.#seen.has(this.#shardName(shard))) this.#fresh.add(shard);
      if (!(await this.#write(this.#shardName(shard), identity, limit))) continue;
      this.#held.set(shard, this.#now());
      this.#owner.take(shard, this.#fresh.delete(shard));
    }
  }

  #observe(leases: readonly Lease[]): void {
    const names = new Set(leases.map(({ metadata }) => metadata?.name ?? ''));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    for (const lease of leases) this.#remember(lease);
  }

  #remember(lease: Lease): void {
    const { name = '', resourceVersion } = lease.metadata ?? {};
    if (this.#seen.get(name)?.lease.metadata?.resourceVersion === resourceVersion) return;
    this.#seen.set(name, { lease, at: this.#now() });
  }

  /** Renews the Leases of the shards; stops the nodes of those that another process has taken. */
  async #renewOwn(limit: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<void> {
    const { identity, logger } = this.#options;
    for (const shard of this.held) {
      const name = this.#shardName(shard);
      const holder = this.#seen.get(name)?.lease.spec?.holderIdentity;
      if (holder !== undefined && holder !== identity) {
        logger.warn('another process has taken a shard', { shard, holder });
        await this.#stop(shard);
      } else if (await this.#write(name, identity, limit)) this.#held.set(shard, this.#now());
    }
  }

  /** Stops the nodes of shards whose Leases were not renewed for so long that others may take them. */
  async #dropOverdue(): Promise<void> {
    for (const [shard, renewedAt] of this.#held)
      if (this.#now() - renewedAt >= this.#leaseMs * 0.8) await this.#stop(shard);
  }

  /** Returns what the Leases say about the other processes. */
  #others(): { readonly free: readonly number[]; readonly others: readonly number[] } {
    const counts = this.#liveProcesses();
    const free: number[] = [];
    for (let shard = 0; shard < this.#options.shards; shard++) {
      if (this.#held.has(shard)) continue;
      const holder = this.#liveHolderOf(shard);
      if (holder === undefined) free.push(shard);
      else {
        this.#fresh.delete(shard);
        counts.set(holder, (counts.get(holder) ?? 0) + 1);
      }
    }
    return { free, others: [...counts.values()] };
  }

  /** Returns the other processes with no shards yet; removes the Leases of those that have ended. */
  #liveProcesses(): Map<string, number> {
    const prefix = this.#processName('');
    const counts = new Map<string, number>();
    for (const [name, seen] of this.#seen) {
      if (!name.startsWith(prefix) || name === this.#processName()) continue;
      if (this.#isLive(seen)) counts.set(name.slice(prefix.length), 0);
      else this.#forget(name);
    }
    return counts;
  }

  /** Returns the other process that holds a shard; `undefined` when there is none. */
  #liveHolderOf(shard: number): string | undefined {
    const seen = this.#seen.get(this.#shardName(shard));
    const holder = seen?.lease.spec?.holderIdentity;
    if (!seen || !holder || holder === this.#options.identity) return undefined;
    return this.#isLive(seen) ? holder : undefined;
  }

  /** Removes the Lease of a process that has ended without doing so. */
  #forget(name: string): void {
    this.#seen.delete(name);
    this.#leases.delete(name, this.#limit()).catch(() => undefined);
  }

  #isLive({ lease: { spec }, at }: Seen): boolean {
    return this.#now() - at < (spec?.leaseDurationSeconds ?? 0) * 1000;
  }

  /** Stops the nodes of a shard, then releases its Lease. */
  async #give(shard: number): Promise<void> {
    await this.#stop(shard);
    await this.#write(this.#shardName(shard), '', this.#limit()).catch(() => undefined);
  }

  async #stop(shard: number): Promise<void> {
    this.#held.delete(shard);
    await this.#owner.give(shard);
  }

  /** Writes a Lease on top of the version that was seen. Returns false when another process wrote it meanwhile. */
  async #write(
    name: string,
    holder: string,
    limit: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<boolean> {
    const { clock, name: simulation } = this.#options;
    const { resourceVersion } = this.#seen.get(name)?.lease.metadata ?? {};
    const lease: Lease = {
      ...{ kind: 'Lease', apiVersion: 'coordination.k8s.io/v1' },
      metadata: {
        ...{ name, namespace, labels: { [shardsLabel]: simulation } },
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
        renewTime: microTimeText(clock.now()),
      },
    };
    try {
      const leases = this.#leases;
      this.#remember(
        await (resourceVersion === undefined ? leases.create(lease, limit) : leases.update(lease, limit)),
      );
      return true;
    } catch (reason) {
      if (isConflict(reason) || isAlreadyExists(reason) || isNotFound(reason)) return false;
      throw reason;
    }
  }

  get #leaseMs(): number {
    return this.#options.leaseMs ?? 15_000;
  }

  #limit(): { readonly timeoutMs: number } {
    return { timeoutMs: this.#leaseMs / 3 };
  }

  #now(): number {
    return steadyNow(this.#options.clock);
  }

  #shardName(shard: number): string {
    return `podtender-simulate-${this.#options.name}-${shard}`;
  }

  #processName(identity = this.#options.identity): string {
    return `podtender-simulate-${this.#options.name}-process-${identity}`;
  }
}
