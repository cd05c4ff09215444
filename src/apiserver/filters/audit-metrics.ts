import type { MetricFamily } from '../../metrics/family.ts';
import { Counter } from '../../metrics/metrics.ts';
import type { AuditLevel } from '../request/audit-record.ts';

/** The part that writes events, as kube-apiserver names it. */
const plugin = 'log';

/** AuditMetrics counts audit events under kube-apiserver's names. */
export class AuditMetrics {
  readonly #events = new Counter('apiserver_audit_event_total', 'Number of audit events that were made.');
  readonly #levels = new Counter(
    'apiserver_audit_level_total',
    'Number of audited requests by the level that the policy says.',
  );
  readonly #errors = new Counter(
    'apiserver_audit_error_total',
    'Number of audit events that could not be recorded.',
  );
  readonly #rejections = new Counter(
    'apiserver_audit_requests_rejected_total',
    'Number of requests that were rejected since their audit event could not be recorded.',
  );
  readonly #made = this.#events.with({});
  readonly #rejected = this.#rejections.with({});

  /** Counts an event. */
  made(): void {
    this.#made.value++;
  }

  /** Counts a request by the level that the policy says. */
  leveled(level: AuditLevel): void {
    this.#levels.add({ level });
  }

  /** Counts an event that could not be recorded. */
  failed(): void {
    this.#errors.add({ plugin });
  }

  /** Counts a request that is rejected since its event could not be recorded. */
  rejected(): void {
    this.#rejected.value++;
  }

  families(): readonly MetricFamily[] {
    return [this.#events, this.#levels, this.#errors, this.#rejections].map((one) => one.collect());
  }
}
