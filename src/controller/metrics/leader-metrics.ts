import type { MetricFamily } from '../../metrics/family.ts';
import { Counter } from '../../metrics/metrics.ts';
import type { Collector } from './registry.ts';

/** LeaderMetrics shows whether this process leads: `leader_election_*`. */
export class LeaderMetrics implements Collector {
  readonly #labels: { readonly name: string };
  readonly #status = new Counter(
    'leader_election_master_status',
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    'gauge',
  );
  readonly #slowPath = new Counter(
    'leader_election_slowpath_total',
    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
  );

  /** @param id the name of the lease */
  constructor(id: string) {
    this.#labels = { name: id };
    this.#status.with(this.#labels);
    this.#slowPath.with(this.#labels);
  }

  setLeading(leading: boolean): void {
    this.#status.with(this.#labels).value = leading ? 1 : 0;
  }

  slowPath(): void {
    this.#slowPath.add(this.#labels);
  }

  collect(): readonly MetricFamily[] {
    return [this.#status.collect(), this.#slowPath.collect()];
  }
}
