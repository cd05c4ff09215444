import { microTimeText } from '../../kube/time.ts';
import { type ApiClient, isAlreadyExists, isNotFound } from '../../api/client.ts';
import { leaseResource } from '../../api/resources.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Lease } from '../../kube/types.ts';

/** Label of the Leases of processes that share a simulation; its value is the simulation's group. */
export const memberLabel = 'podtender.io/simulate-member';

/** Options of ShardMembers. */
export interface ShardMembersOptions {
  readonly group: string;
  readonly identity: string;
  readonly namespace: string;
  readonly leaseMs: number;
}

interface Seen {
  readonly renewTime: string;
  /** When this process first saw that time, by the monotonic clock, ms. */
  readonly at: number;
}

/**
 * ShardMembers knows which processes share a simulation. Whether another one has ended is judged by the time since this process saw its Lease
 * renewed: the clocks of the machines need not agree.
 */
export class ShardMembers {
  readonly #options: ShardMembersOptions;
  readonly #deps: { readonly client: ApiClient; readonly clock: Clock; readonly logger: Logger };
  readonly #seen = new Map<string, Seen>();

  constructor(
    options: ShardMembersOptions,
    deps: { readonly client: ApiClient; readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#options = options;
    this.#deps = deps;
  }

  /** The identities of the processes that were alive at the last renewal, this one among them. */
  get live(): readonly string[] {
    const now = steadyNow(this.#deps.clock);
    const { leaseMs, identity } = this.#options;
    const others = [...this.#seen].filter(([, { at }]) => now - at < leaseMs).map(([name]) => name);
    return [...new Set([...others, identity])];
  }

  /** Renews this process's Lease and reads those of the others. @throws {ApiError} */
  async renew(signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    const { namespace, group, leaseMs } = this.#options;
    const options = { signal, timeoutMs: leaseMs };
    await this.#write(options);
    const { items } = await client.list<Lease>(leaseResource, {
      ...options,
      namespace,
      labelSelector: `${memberLabel}=${group}`,
    });
    this.#observe(items);
  }

  /** Removes this process's Lease, so that others take its shards at once. */
  async leave(): Promise<void> {
    const { client, logger } = this.#deps;
    try {
      await client.delete(leaseResource, this.#ref(), { timeoutMs: 2000 });
    } catch (reason) {
      if (!isNotFound(reason)) logger.warn('the lease was not removed', { err: messageOf(reason) });
    }
  }

  #ref(): { readonly name: string; readonly namespace: string } {
    const { group, identity, namespace } = this.#options;
    return { name: `podtender-simulate-${group}-${identity}`, namespace };
  }

  async #write(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<void> {
    const { client, clock } = this.#deps;
    const { group, identity, leaseMs } = this.#options;
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      renewTime: microTimeText(clock.now()),
    };
    try {
      await client.patch(leaseResource, this.#ref(), { type: 'merge', body: { spec } }, options);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
      const metadata = { ...this.#ref(), labels: { [memberLabel]: group } };
      const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
      await client.create(leaseResource, lease, options).catch((failure: unknown) => {
        if (!isAlreadyExists(failure)) throw failure;
      });
    }
  }

  #observe(leases: readonly Lease[]): void {
    const now = steadyNow(this.#deps.clock);
    const names = new Set(leases.map(({ spec }) => spec?.holderIdentity ?? ''));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    for (const { spec } of leases) {
      const { holderIdentity = '', renewTime = '' } = spec ?? {};
      const before = this.#seen.get(holderIdentity);
      if (before?.renewTime === renewTime) continue;
      this.#seen.set(holderIdentity, { renewTime, at: now });
    }
  }
}
