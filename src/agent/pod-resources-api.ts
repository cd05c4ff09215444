import { join } from 'node:path';
import { RateLimiter } from '../api/rest/rate-limiter.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { servePodResources } from '../containers/podresources/server.ts';
import { type Endpoint, podResourcesRate, PodResourcesService } from '../containers/podresources/service.ts';
import { Counter } from '../metrics/metrics.ts';
import type { PodsController } from '../pods/pods-controller.ts';
import type { MetricFamily } from '../metrics/family.ts';

const callOf: Readonly<Record<Endpoint, string>> = {
  list: 'List',
  get: 'Get',
  get_allocatable: 'GetAllocatableResources',
};
const endpoints: readonly Endpoint[] = ['list', 'get', 'get_allocatable'];
const byVersion = 'Broken down by server api version.';
const prefix = 'kubelet_pod_resources_endpoint';

/** PodResourcesMetrics counts requests to the pod resources API, with the kubelet's names. */
export class PodResourcesMetrics {
  readonly #total = new Counter(
    `${prefix}_requests_total`,
    `Cumulative number of requests to the PodResource endpoint. ${byVersion}`,
  );
  readonly #counters = new Map(
    endpoints.flatMap((endpoint) => {
      const requests = `Number of requests to the PodResource ${callOf[endpoint]} endpoint`;
      return [
        [`request ${endpoint}`, new Counter(`${prefix}_requests_${endpoint}`, `${requests}. ${byVersion}`)],
        [
          `error ${endpoint}`,
          new Counter(`${prefix}_errors_${endpoint}`, `${requests} which returned error. ${byVersion}`),
        ],
      ] as const;
    }),
  );

  count(endpoint: Endpoint, version: string, outcome: 'request' | 'error'): void {
    const labels = { server_api_version: version };
    if (outcome === 'request') this.#total.add(labels);
    this.#counters.get(`${outcome} ${endpoint}`)?.add(labels);
  }

  collect(): readonly MetricFamily[] {
    return [this.#total, ...this.#counters.values()].map((counter) => counter.collect());
  }
}

interface PodResourcesParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly controller: Pick<PodsController, 'engines'>;
  readonly metrics: PodResourcesMetrics;
  readonly rootDir: string;
}

/** Serves the pod resources API on `<root>/pod-resources/kubelet.sock`. It is not served when the path is too long for a socket. */
export async function podResourcesApi({
  clock,
  logger,
  controller,
  metrics,
  rootDir,
}: PodResourcesParts): Promise<{ close(): void } | undefined> {
  const socket = join(rootDir, 'pod-resources', 'kubelet.sock');
  const limit = new RateLimiter(clock, podResourcesRate.qps, podResourcesRate.burst);
  const service = new PodResourcesService({
    mayAsk: () => limit.tryAcquire(),
    activePods: () => controller.engines.syncHandler.activePods(),
    podByName: (namespace, name) => controller.engines.podManager.getPodByName(namespace, name),
    count: (endpoint, version, outcome) => {
      metrics.count(endpoint, version, outcome);
    },
  });
  try {
    return await servePodResources(service, socket);
  } catch (reason) {
    logger.error('pod resources API is not served', { socket, err: messageOf(reason) });
    return undefined;
  }
}
