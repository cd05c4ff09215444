import type { ApiClient } from '../../api/client.ts';
import { LeaderElector } from '../../api/leaderelection/leader-elector.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { labelValue } from './ownership.ts';
import type { BackingElection } from './settings.ts';

export interface LeadershipDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly namespace: string;
  /** Names this agent in the lease; the same after a restart, so that it need not wait for itself. */
  readonly identity: string;
}

/** The share of the lease's duration after which a leader that cannot renew it stops to act. */
const renewShare = 2 / 3;
const retryShare = 2 / 15;

/** Leadership holds the lease of a node in the backing cluster: of several agents with one node name only its holder acts. */
export class Leadership {
  readonly #elector: LeaderElector;
  readonly #stop = new AbortController();
  readonly #logger: Logger;
  readonly #loss = Promise.withResolvers<never>();
  #leads: Promise<void> | undefined;
  #lost: AgentError | undefined;

  constructor(deps: LeadershipDeps, { leaseName, leaseDurationSeconds = 15, namespace }: BackingElection) {
    const leaseDuration = leaseDurationSeconds * 1000;
    this.#logger = deps.logger;
    this.#loss.promise.catch(() => undefined);
    this.#elector = new LeaderElector(deps, {
      id: leaseName ?? `podtender-${labelValue(deps.nodeName).toLowerCase()}`,
      namespace: namespace ?? deps.namespace,
      leaseDuration,
      renewDeadline: Math.floor(leaseDuration * renewShare),
      retryPeriod: Math.floor(leaseDuration * retryShare),
      releaseOnCancel: true,
      identity: deps.identity,
    });
  }

  /** Resolves once this agent leads; later calls return at once. */
  acquire(): Promise<void> {
    this.#leads ??= this.#elector.acquire(this.#stop.signal).then(() => {
      this.#hold();
    });
    return this.#leads;
  }

  /** @throws {AgentError} `unavailable` once this agent has lost the lease */
  check(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** Rejects once this agent has lost the lease; never resolves. */
  get loss(): Promise<never> {
    return this.#loss.promise;
  }

  /** Gives the lease up, so that another agent need not wait for its end. */
  async close(): Promise<void> {
    this.#stop.abort();
    if (this.#elector.isLeader) await this.#elector.release();
  }

  #hold(): void {
    this.#elector.hold(this.#stop.signal).catch((reason: unknown) => {
      const message = `another agent may lead this node: ${messageOf(reason)}`;
      this.#lost = new AgentError('unavailable', message, { cause: reason });
      this.#logger.error('lost the lease of the backing cluster', { err: message });
      this.#loss.reject(this.#lost);
    });
  }
}
