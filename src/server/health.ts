import {
  type HealthAnswer,
  type HealthCheck,
  runHealthCheck,
  runHealthChecks,
} from '../kube/health-checks.ts';
import type { MetricFamily } from '../metrics/family.ts';
import { httpError, pageNotFound, type Reply, text } from './reply.ts';

/** Always healthy: there is no device plugin server that could fail. */
export const devicePlugin: HealthCheck = { name: 'device-plugin', check: () => undefined };

const noSniff = { 'X-Content-Type-Options': 'nosniff' };

/** Answers `/healthz`: runs all checks. Accepts any method. */
export const healthz = (checks: readonly HealthCheck[], query: URLSearchParams): Reply =>
  replyOf(runHealthChecks('healthz', checks, query), noSniff);

/** Answers `/healthz/{name}`: runs one check and includes its reason. */
export function healthzOf(checks: readonly HealthCheck[], name: string): Reply {
  const found = runHealthCheck(checks, name);
  return found ? replyOf(found) : pageNotFound;
}

const replyOf = ({ isHealthy, text: body }: HealthAnswer, headers: Reply['headers'] = {}): Reply =>
  isHealthy ? text(200, body, headers) : httpError(500, body.trimEnd());

const counts = new WeakMap<HealthCheck, Record<'success' | 'error', number>>();

/** Resets the counters of {@link healthMetrics}. */
export function resetHealthMetrics(checks: readonly HealthCheck[]): void {
  for (const one of checks) counts.delete(one);
}

/** Runs each check for `/metrics/slis` and returns its current result and the counts of results over all scrapes. */
export function healthMetrics(checks: readonly HealthCheck[]): readonly MetricFamily[] {
  const results = checks.map((one) => {
    const well = one.check() === undefined;
    const count = counts.get(one) ?? { success: 0, error: 0 };
    count[well ? 'success' : 'error']++;
    counts.set(one, count);
    return { name: one.name, well, count };
  });
  const type = 'healthz';
  return [
    {
      name: 'kubernetes_healthcheck',
      type: 'gauge',
      help: 'This metric records the result of a single healthcheck.',
      samples: results.map(({ name, well }) => ({ labels: { name, type }, value: well ? 1 : 0 })),
    },
    {
      name: 'kubernetes_healthchecks_total',
      type: 'counter',
      help: 'This metric records the results of all healthcheck.',
      samples: results.flatMap(({ name, count }) =>
        (['success', 'error'] as const).flatMap((status) =>
          count[status] === 0 ? [] : [{ labels: { name, status, type }, value: count[status] }],
        ),
      ),
    },
  ];
}
