import { goQuote } from '../go/go-quote.ts';

/** One named health check of a component. */
export interface HealthCheck {
  readonly name: string;
  /** Returns what is wrong; undefined when healthy. */
  readonly check: () => string | undefined;
}

/** The answer to a request for health. */
export interface HealthAnswer {
  readonly isHealthy: boolean;
  readonly text: string;
}

/** Always healthy: the process answers. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };
/** Always healthy: there is no log buffer that could stall. */
export const log: HealthCheck = { name: 'log', check: () => undefined };

/**
 * Runs all checks but those that `?exclude=` names; `?verbose`, and a failure, list them. Reasons are withheld. Follows apiserver
 * `handleRootHealth` (v1.36).
 *
 * @param root `healthz`, `livez` or `readyz`
 */
export function runHealthChecks(
  root: string,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
): HealthAnswer {
  const excluded = new Set(query.getAll('exclude'));
  const unknown = new Set(excluded);
  const lines: string[] = [];
  let isHealthy = true;
  for (const { name, check } of checks) {
    unknown.delete(name);
    if (excluded.has(name)) lines.push(`[+]${name} excluded: ok`);
    else if (check() === undefined) lines.push(`[+]${name} ok`);
    else {
      lines.push(`[-]${name} failed: reason withheld`);
      isHealthy = false;
    }
  }
  if (unknown.size > 0) {
    const names = [...unknown].sort().map(goQuote).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (!isHealthy) return { isHealthy, text: `${lines.join('\n')}\n${root} check failed\n` };
  return { isHealthy, text: query.has('verbose') ? `${lines.join('\n')}\n${root} check passed\n` : 'ok' };
}

/** Runs one check and includes its reason; undefined when there is none of that name. */
export function runHealthCheck(checks: readonly HealthCheck[], name: string): HealthAnswer | undefined {
  const found = checks.find((one) => one.name === name);
  if (!found) return undefined;
  const fault = found.check();
  return fault === undefined
    ? { isHealthy: true, text: 'ok' }
    : { isHealthy: false, text: `internal server error: ${fault}\n` };
}
