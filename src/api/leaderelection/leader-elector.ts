import { microTimeText } from '../../kube/time.ts';
import { type ApiClient, isAlreadyExists, isConflict, isNotFound } from '../client.ts';
import { leaseResource } from '../resources.ts';
import { isAborted, untilAborted } from '../../base/abort.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { jitter, type Random } from '../../base/random.ts';
import type { Lease } from '../../kube/types.ts';

/** The lease to hold, and its times in ms. */
export interface LeaderElectionOptions {
  /** The name of the Lease. */
  readonly id: string;
  /** Default: the namespace of the connection, which in a cluster is the pod's. */
  readonly namespace?: string;
  /** How long others wait for a renewal before they take the lease. Default 15 s. */
  readonly leaseDuration?: number;
  /** How long a leader tries to renew before it gives up. Default 10 s. */
  readonly renewDeadline?: number;
  /** The time between two attempts. Default 2 s. */
  readonly retryPeriod?: number;
  /** Releases the lease at the end, so that another process takes over at once. Only for programs that stop working then. */
  readonly releaseOnCancel?: boolean;
  /** Identifies this process in the lease. Default: the host's name and a UUID. */
  readonly identity?: string;
}

/** What a {@link LeaderElector} works with. */
export interface LeaderElectorDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when this process starts or stops to lead. */
  readonly onLeading?: (leading: boolean) => void;
  /** Called when a renewal must read the lease first, because others have changed it. */
  readonly onSlowPath?: () => void;
  /** Called when another process leads. */
  readonly onNewLeader?: (identity: string) => void;
}

/** A lease with all its times. */
export type Election = Required<LeaderElectionOptions>;

/** An attempt may come late by this share of the retry period. */
const jitterFactor = 1.2;

/** Checks that the times fit each other. @throws {AgentError} `invalid_argument` */
export function checkElection(election: Election): void {
  const { id, namespace, leaseDuration, renewDeadline, retryPeriod } = election;
  const faults: readonly (readonly [boolean, string])[] = [
    [id === '', 'id is required'],
    [
      namespace === '',
      'unable to find leader election namespace: not running in-cluster, set leaderElection.namespace',
    ],
    [leaseDuration < 1000, `leaseDuration must be at least 1,000 ms, not ${leaseDuration}`],
    [
      !(leaseDuration > renewDeadline),
      `leaseDuration (${leaseDuration} ms) must be greater than renewDeadline (${renewDeadline} ms)`,
    ],
    [retryPeriod <= 0, `retryPeriod must be greater than 0 ms, not ${retryPeriod}`],
    [
      !(renewDeadline > retryPeriod * jitterFactor),
      `renewDeadline (${renewDeadline} ms) must be greater than retryPeriod × ${jitterFactor} (${retryPeriod * jitterFactor} ms)`,
    ],
  ];
  const fault = faults.find(([isFault]) => isFault);
  if (fault) throw new AgentError('invalid_argument', `leaderElection: ${fault[1]}`);
}

/** The lease as last read, with the time at which this process first saw that state. */
interface Observed {
  readonly lease: Lease;
  readonly at: number;
}

interface Limit {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * LeaderElector holds a Lease. Whether another process's lease has expired is judged by the time since this process saw it renewed, on the
 * monotonic clock: the clocks of the processes need not agree, and may jump.
 *
 * After client-go `leaderelection`.
 */
export class LeaderElector {
  readonly #deps: LeaderElectorDeps;
  readonly #election: Election;
  #observed: Observed | undefined;
  #reported = '';
  #leading = false;

  constructor(deps: LeaderElectorDeps, election: Election) {
    checkElection(election);
    this.#deps = deps;
    this.#election = election;
  }

  /** Whether this process holds the lease as far as it has seen. */
  get isLeader(): boolean {
    return this.#observed?.lease.spec?.holderIdentity === this.#election.identity;
  }

  /** Resolves when this process leads; rejects when `signal` aborts first. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { retryPeriod, renewDeadline } = this.#election;
    logger.info('attempting to acquire leader lease', this.#fields());
    for (;;) {
      signal.throwIfAborted();
      if (await this.#tryHold({ signal, timeoutMs: renewDeadline })) break;
      await clock.sleep(jitter(random, retryPeriod, jitterFactor), signal);
    }
    this.#setLeading(true);
    logger.info('successfully acquired lease', this.#fields());
  }

  /**
   * Renews the lease until `signal` aborts.
   *
   * @throws when the lease could not be renewed in time: this process must stop at once what only a leader does
   */
  async hold(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { renewDeadline, leaseDuration } = this.#election;
    let renewedAt = steadyNow(clock);
    /** The time of the first attempt since the last renewal. */
    let tryingSince: number | undefined;
    try {
      while (!isAborted(signal)) {
        await clock.sleep(this.#pause(tryingSince), signal).catch(() => undefined);
        if (isAborted(signal)) return;
        const began = steadyNow(clock);
        tryingSince ??= began;
        // a process that was suspended sees at once that its lease may be another's
        const left = Math.min(tryingSince + renewDeadline, renewedAt + leaseDuration) - began;
        if (left <= 0) throw lost();
        if (await this.#tryHold({ signal, timeoutMs: left })) {
          renewedAt = began;
          tryingSince = undefined;
        } else if (this.#heldByOther()) throw lost();
      }
    } catch (reason) {
      logger.error('failed to renew lease', { ...this.#fields(), err: messageOf(reason) });
      throw reason;
    } finally {
      this.#setLeading(false);
    }
  }

  /** Gives up the lease if this process holds it. */
  async release(): Promise<void> {
    const { client, clock, logger } = this.#deps;
    if (!this.isLeader || !this.#observed) return;
    const { lease } = this.#observed;
    const now = microTimeText(clock.now());
    const spec = {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
    };
    const limit = { timeoutMs: this.#election.renewDeadline };
    try {
      this.#observe(await client.update<Lease>(leaseResource, { ...lease, spec }, limit));
    } catch (reason) {
      logger.error('failed to release lease', { ...this.#fields(), err: messageOf(reason) });
    }
  }

  /** The time to the next renewal, ms: the retry period, but not past the end of the attempts. */
  #pause(tryingSince: number | undefined): number {
    const { retryPeriod, renewDeadline } = this.#election;
    if (tryingSince === undefined) return retryPeriod;
    return Math.max(0, Math.min(retryPeriod, tryingSince + renewDeadline - steadyNow(this.#deps.clock)));
  }

  #fields(): { readonly lease: string } {
    return { lease: `${this.#election.namespace}/${this.#election.id}` };
  }

  #setLeading(leading: boolean): void {
    if (this.#leading === leading) return;
    this.#leading = leading;
    this.#deps.onLeading?.(leading);
  }

  /** Takes or renews the lease. Returns whether this process holds it now. */
  async #tryHold({ signal, timeoutMs }: Limit): Promise<boolean> {
    const late = new AbortController();
    const stopTimer = this.#deps.clock.timer(timeoutMs, () => {
      late.abort(new AgentError('deadline_exceeded', `no answer within ${timeoutMs} ms`));
    });
    const limit = { signal: AbortSignal.any([signal, late.signal]), timeoutMs };
    try {
      return await untilAborted(this.#takeOrRenew(limit), limit.signal);
    } catch (reason) {
      if (!isAborted(signal))
        this.#deps.logger.warn('error retrieving or updating resource lock', {
          ...this.#fields(),
          err: messageOf(reason),
        });
      return false;
    } finally {
      stopTimer();
    }
  }

  async #takeOrRenew(limit: Limit): Promise<boolean> {
    // the lease that this process wrote last is most likely still there
    if (this.isLeader && this.#isValid() && (await this.#renewLast(limit))) return true;
    return await this.#readAndHold(limit);
  }

  /** Renews the lease as last read. Returns whether it was still that one. */
  async #renewLast(limit: Limit): Promise<boolean> {
    if (!this.#observed) return false;
    try {
      await this.#renew(this.#observed.lease, limit);
      return true;
    } catch (reason) {
      if (!isConflict(reason) && !isNotFound(reason)) throw reason;
      this.#deps.onSlowPath?.();
      return false;
    }
  }

  async #readAndHold(limit: Limit): Promise<boolean> {
    const { id: name, namespace } = this.#election;
    let lease: Lease;
    try {
      lease = await this.#deps.client.get<Lease>(leaseResource, { namespace, name }, limit);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
      return await this.#create(limit);
    }
    this.#observe(lease);
    if (this.#heldByOther() && this.#isValid()) return false;
    try {
      await this.#renew(lease, limit);
      return true;
    } catch (reason) {
      if (isConflict(reason)) return false; // another process was faster
      throw reason;
    }
  }

  async #create(limit: Limit): Promise<boolean> {
    const { id: name, namespace, identity, leaseDuration } = this.#election;
    const now = microTimeText(this.#deps.clock.now());
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    };
    try {
      this.#observe(await this.#deps.client.create(leaseResource, lease, limit));
      return true;
    } catch (reason) {
      if (isAlreadyExists(reason)) return false;
      throw reason;
    }
  }

  async #renew(lease: Lease, limit: Limit): Promise<void> {
    const { identity, leaseDuration } = this.#election;
    const { spec = {} } = lease;
    const now = microTimeText(this.#deps.clock.now());
    const own = spec.holderIdentity === identity;
    const renewed: Lease = {
      ...lease,
      spec: {
        ...spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
        acquireTime: own ? (spec.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (spec.leaseTransitions ?? 0) + (own ? 0 : 1),
      },
    };
    this.#observe(await this.#deps.client.update(leaseResource, renewed, limit));
  }

  #observe(lease: Lease): void {
    const before = this.#observed;
    // what counts is that the record changed, whatever its times say
    const unchanged = before && recordOf(before.lease) === recordOf(lease);
    this.#observed = { lease, at: unchanged ? before.at : steadyNow(this.#deps.clock) };
    const holder = lease.spec?.holderIdentity ?? '';
    if (holder === this.#reported) return;
    this.#reported = holder;
    if (holder !== '') this.#deps.onNewLeader?.(holder);
  }

  #heldByOther(): boolean {
    const holder = this.#observed?.lease.spec?.holderIdentity ?? '';
    return holder !== '' && holder !== this.#election.identity;
  }

  /** True until the lease has not changed for its duration. */
  #isValid(): boolean {
    if (!this.#observed) return false;
    const { lease, at } = this.#observed;
    return at + (lease.spec?.leaseDurationSeconds ?? 0) * 1000 > steadyNow(this.#deps.clock);
  }
}

const lost = (): AgentError => new AgentError('failed_precondition', 'leader election lost');

const recordOf = ({ spec }: Lease): string => JSON.stringify(spec ?? {});
