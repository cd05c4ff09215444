import { type Clock, steadyNow } from '../../base/clock.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import { Counter, Histogram, type Observer } from '../../metrics/metrics.ts';
import type { User } from '../authentication/users.ts';
import type { Decision } from '../authorization/attributes.ts';

/** Bounds from 1 ms on, each twice the one before. */
const buckets = Array.from({ length: 15 }, (_none, i) => 0.001 * 2 ** i);

/** Names of users that are counted by themselves. */
const ownNames: ReadonlySet<string> = new Set([
  ...['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default'],
]);

/** Returns the user label of a name: their number has no end. */
function userLabel(name: string): string {
  if (ownNames.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}

/** AccessMetrics counts who was let in, and what was allowed, under kube-apiserver's names. */
export class AccessMetrics {
  readonly #users = new Counter(
    'authenticated_user_requests',
    'Number of requests of users that were identified.',
  );
  readonly #attempts = new Counter(
    'authentication_attempts',
    'Number of tries to identify the user of a request.',
  );
  readonly #identified = new Histogram(
    'authentication_duration_seconds',
    'Time that it took to identify the user of a request, seconds.',
    buckets,
  );
  readonly #decisions = new Counter(
    'authorization_attempts_total',
    'Number of authorization decisions by result.',
  );
  readonly #decided = new Histogram(
    'authorization_duration_seconds',
    'Time that authorization decisions took, seconds.',
    buckets,
  );
  readonly #byUser = new Map<string, { value: number }>();
  readonly #success = this.#pair(this.#attempts, this.#identified, 'success');
  readonly #failure = this.#pair(this.#attempts, this.#identified, 'failure');
  readonly #allowed = this.#pair(this.#decisions, this.#decided, 'allowed');
  readonly #denied = this.#pair(this.#decisions, this.#decided, 'denied');
  readonly #noOpinion = this.#pair(this.#decisions, this.#decided, 'no-opinion');
  readonly #error = this.#pair(this.#decisions, this.#decided, 'error');
  readonly #clock: Pick<Clock, 'now' | 'steady'>;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Returns the time to measure from. */
  now(): number {
    return steadyNow(this.#clock);
  }

  /** Counts a try to identify a user that began at a time; without a user it has failed. */
  identified(user: User | undefined, since: number): void {
    this.#observe(user ? this.#success : this.#failure, since);
    if (!user) return;
    const label = userLabel(user.name);
    let series = this.#byUser.get(label);
    if (!series) {
      series = this.#users.with({ username: label });
      this.#byUser.set(label, series);
    }
    series.value++;
  }

  /** Counts a decision that began at a time. */
  decided(decision: Decision, since: number): void {
    if (decision.allowed) this.#observe(this.#allowed, since);
    else if (decision.error !== undefined) this.#observe(this.#error, since);
    else this.#observe(decision.denied ? this.#denied : this.#noOpinion, since);
  }

  #pair(counter: Counter, histogram: Histogram, result: string): Pair {
    return { count: counter.with({ result }), time: histogram.with({ result }) };
  }

  #observe({ count, time }: Pair, since: number): void {
    count.value++;
    time.observe((this.now() - since) / 1000);
  }

  families(): readonly MetricFamily[] {
    return [this.#users, this.#attempts, this.#identified, this.#decisions, this.#decided].map((one) =>
      one.collect(),
    );
  }
}

interface Pair {
  readonly count: { value: number };
  readonly time: Observer;
}
