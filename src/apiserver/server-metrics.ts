import type { Clock } from '../base/clock.ts';
import type { MetricFamily } from '../metrics/family.ts';
import { processFamilies } from '../metrics/process.ts';
import { AdmissionMetrics } from './admission/admission-metrics.ts';
import { WebhookMetrics } from './admission/webhooks/webhook-metrics.ts';
import { WatchMetrics } from './endpoints/handlers/watch-metrics.ts';
import { DecisionMetrics } from './authorization/decision-metrics.ts';
import { AuthorizationWebhookMetrics } from './authorization/webhook-metrics.ts';
import { AuditMetrics } from './filters/audit-metrics.ts';
import { AccessMetrics } from './filters/access-metrics.ts';
import { RequestMetrics } from './filters/request-metrics.ts';
import type { Store } from './storage/store.ts';

/** ServerMetrics is what `/metrics` shows. */
export class ServerMetrics {
  readonly access: AccessMetrics;
  readonly requests: RequestMetrics;
  readonly decisions: DecisionMetrics = new DecisionMetrics();
  readonly authorizationWebhook: AuthorizationWebhookMetrics;
  readonly audit: AuditMetrics = new AuditMetrics();
  readonly admission: AdmissionMetrics;
  readonly webhooks: WebhookMetrics = new WebhookMetrics();
  readonly watches: WatchMetrics = new WatchMetrics();
  readonly #store: Pick<Store, 'storages' | 'count'>;

  constructor(clock: Pick<Clock, 'now' | 'steady'>, store: Pick<Store, 'storages' | 'count'>) {
    this.#store = store;
    this.access = new AccessMetrics(clock);
    this.authorizationWebhook = new AuthorizationWebhookMetrics(clock);
    this.requests = new RequestMetrics(clock);
    this.admission = new AdmissionMetrics(clock);
  }

  families(): readonly MetricFamily[] {
    return [...this.#counted().flatMap((one) => one.families()), ...this.#objects(), ...processFamilies()];
  }

  #counted(): readonly { families(): readonly MetricFamily[] }[] {
    const access = [this.access, this.decisions, this.authorizationWebhook];
    return [...access, this.requests, this.audit, this.admission, this.webhooks, this.watches];
  }

  /** Counts the stored objects at the time of the call. */
  #objects(): readonly MetricFamily[] {
    const counts = this.#store.storages().map((storage) => {
      const slash = storage.indexOf('/');
      const group = slash < 0 ? '' : storage.slice(0, slash);
      return { group, resource: storage.slice(slash + 1), value: this.#store.count(storage) };
    });
    return [
      {
        name: 'apiserver_storage_objects',
        type: 'gauge',
        help: 'Number of stored objects by kind; apiserver_resource_objects is the newer name.',
        samples: counts.map(({ group, resource, value }) => ({
          labels: { resource: group === '' ? resource : `${resource}.${group}` },
          value,
        })),
      },
      {
        name: 'apiserver_resource_objects',
        type: 'gauge',
        help: 'Number of stored objects by kind.',
        samples: counts.map(({ group, resource, value }) => ({ labels: { group, resource }, value })),
      },
    ];
  }
}
