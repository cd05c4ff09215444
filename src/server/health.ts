import { goQuote } from '../go/go-quote.ts';
import type { MetricFamily } from '../metrics/family.ts';
import { httpError, pageNotFound, type Reply, text } from './reply.ts';

/** One named health check of the kubelet. */
export interface HealthCheck {
  readonly name: string;
  /** Returns what is wrong; undefined when healthy. */
  readonly check: () => string | undefined;
}

/** Always healthy: the process answers. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };
/** Always healthy: there is no log buffer that could stall. */
export const log: HealthCheck = { name: 'log', check: () => undefined };
/** Always healthy: there is no device plugin server that could fail. */
export const devicePlugin: HealthCheck = { name: 'device-plugin', check: () => undefined };

const noSniff = { 'X-Content-Type-Options': 'nosniff' };

/** Answers `/healthz`: runs all checks; `?verbose` lists them, `?exclude=` leaves some out. Reasons are withheld. Accepts any method. */
export function healthz(checks: readonly HealthCheck[], query: URLSearchParams): Reply {
  const excluded = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  const failed: string[] = [];
  for (const { name, check } of checks) {
    if (excluded.delete(name)) lines.push(`[+]${name} excluded: ok`);
    else if (check() === undefined) lines.push(`[+]${name} ok`);
    else {
      lines.push(`[-]${name} failed: reason withheld`);
      failed.push(name);
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].sort().map(goQuote).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed.length > 0) return httpError(500, `${lines.join('\n')}\nhealthz check failed`);
  if (!query.has('verbose')) return text(200, 'ok', noSniff);
  return text(200, `${lines.join('\n')}\nhealthz check passed\n`, noSniff);
}

/** Answers `/healthz/{name}`: runs one check and includes its reason. */
export function healthzOf(checks: readonly HealthCheck[], name: string): Reply {
  const found = checks.find((one) => one.name === name);
  if (!found) return pageNotFound;
  const fault = found.check();
  return fault === undefined ? text(200, 'ok') : httpError(500, `internal server error: ${fault}`);
}

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
