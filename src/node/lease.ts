import { isConflict, isNotFound } from '../api/client.ts';
import { isAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { Latch } from '../base/latch.ts';
import type { Logger } from '../base/logger.ts';
import { jitter, type Random } from '../base/random.ts';
import { microTimeText } from '../kube/time.ts';
import type { Lease, Node } from '../kube/types.ts';
import type { LeaseClient } from './clients.ts';

/** Dependencies of LeaseKeeper. */
export interface LeaseKeeperDeps {
  readonly leases: LeaseClient;
  /** Returns the Node that owns the lease; rejects while there is none. */
  readonly getNode: (signal: AbortSignal) => Promise<Node>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when renewals fail repeatedly: connections may be dead. */
  readonly onHeartbeatFailure?: () => void;
  /** Called when another agent renews this node's lease. */
  readonly onDuplicate?: (lease: Lease) => void;
}

export interface LeaseOptions {
  readonly name: string;
  readonly namespace: string;
  readonly durationSeconds: number;
  /** Default: a quarter of the duration. */
  readonly renewIntervalMs: number;
}

const maxTries = 5;
const requestMs = 10_000;

/**
 * LeaseKeeper renews the node's lease, independently of the node's state (R262, R263): every quarter of its duration plus up to 4 %. It
 * assumes that the lease it wrote last is current; a conflict corrects that.
 *
 * Follows `component-helpers/apimachinery/lease`.
 */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  readonly #options: LeaseOptions;
  #latest: Lease | undefined;
  /** Renewals without a response; they may have succeeded nevertheless. */
  readonly #unanswered = new Set<string>();
  #wake = new AbortController();
  readonly #tried = new Latch();

  constructor(deps: LeaseKeeperDeps, options: LeaseOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The lease as last written or read. */
  get latest(): Lease | undefined {
    return this.#latest;
  }

  /** Renews the lease until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    while (!signal.aborted) {
      await this.#sync(signal);
      this.#tried.open();
      const wake = AbortSignal.any([signal, this.#wake.signal]);
      await clock.sleep(jitter(random, this.#options.renewIntervalMs, 0.04), wake).catch(() => undefined);
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
    }
  }

  /** Resolves after the first attempt, successful or not. */
  tried(): Promise<void> {
    return this.#tried.wait();
  }

  /** Retries at once when there is no lease yet, as the Node was just created. */
  nodeIsThere(): void {
    if (!this.#latest) this.#wake.abort();
  }

  async #sync(signal: AbortSignal): Promise<void> {
    if (this.#latest && (await this.#renew(this.#latest, signal))) return;
    const ensured = await this.#ensure(signal);
    this.#latest = ensured?.lease;
    if (ensured && !ensured.created) await this.#renew(ensured.lease, signal);
  }

  async #renew(base: Lease, signal: AbortSignal): Promise<boolean> {
    let from = base;
    for (let tries = 0; tries < maxTries && !isAborted(signal); tries++) {
      try {
        const next: Lease = await this.#next(from, signal);
        this.#unanswered.add(next.spec?.renewTime ?? '');
        this.#latest = await this.#deps.leases.update(next, { signal, timeoutMs: requestMs });
        this.#unanswered.clear();
        return true;
      } catch (reason) {
        if (isAborted(signal)) return false;
        this.#deps.logger.debug('the lease could not be renewed', { err: messageOf(reason), tries });
        if (isConflict(reason)) from = (await this.#afterConflict(from, signal)) ?? from;
        else if (tries > 0) this.#deps.onHeartbeatFailure?.();
      }
    }
    return false;
  }

  /** Reads the lease after a conflict; a renewal by another holder indicates a second agent with this node's name. */
  async #afterConflict(ours: Lease, signal: AbortSignal): Promise<Lease | undefined> {
    const ensured = await this.#ensure(signal);
    if (!ensured || ensured.created) return ensured?.lease;
    const { renewTime = '' } = ensured.lease.spec ?? {};
    const isNewer = Date.parse(renewTime) > Date.parse(ours.spec?.renewTime ?? '');
    if (isNewer && !this.#unanswered.has(renewTime)) this.#deps.onDuplicate?.(ensured.lease);
    return ensured.lease;
  }

  /** Returns the existing lease, or creates one; retries forever. `undefined` while there is no Node. */
  async #ensure(signal: AbortSignal): Promise<{ lease: Lease; created: boolean } | undefined> {
    let pauseMs = 100;
    while (!signal.aborted) {
      try {
        return await this.#getOrCreate(signal);
      } catch (reason) {
        if (isAborted(signal)) return undefined;
        pauseMs = Math.min(2 * pauseMs, 7000);
        this.#deps.logger.warn('the lease could not be ensured', { err: messageOf(reason), pauseMs });
        await this.#deps.clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  async #getOrCreate(signal: AbortSignal): Promise<{ lease: Lease; created: boolean } | undefined> {
    const { leases } = this.#deps;
    const options = { signal, timeoutMs: requestMs };
    try {
      return { lease: await leases.get(this.#options.name, options), created: false };
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
    const lease = await this.#next(undefined, signal);
    if ((lease.metadata?.ownerReferences ?? []).length === 0) return undefined;
    return { lease: await leases.create(lease, options), created: true };
  }

  async #next(base: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { name, namespace, durationSeconds } = this.#options;
    const { clock } = this.#deps;
    const lease: Lease = base ?? {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { name, namespace },
      spec: { holderIdentity: name },
    };
    const owners = lease.metadata?.ownerReferences ?? [];
    const owned = owners.length > 0 ? owners : await this.#owner(signal);
    return {
      ...lease,
      metadata: { ...lease.metadata, ...(owned.length > 0 && { ownerReferences: owned }) },
      spec: { ...lease.spec, leaseDurationSeconds: durationSeconds, renewTime: microTimeText(clock.now()) },
    };
  }

  async #owner(signal: AbortSignal): Promise<NonNullable<NonNullable<Lease['metadata']>['ownerReferences']>> {
    try {
      const { metadata } = await this.#deps.getNode(signal);
      const { name = '', uid = '' } = metadata ?? {};
      return [{ apiVersion: 'v1', kind: 'Node', name, uid }];
    } catch (reason) {
      this.#deps.logger.debug('the lease has no owner yet', { err: messageOf(reason) });
      return [];
    }
  }
}
