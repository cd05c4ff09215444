import { groups, type Kind } from '../../apimachinery/kinds.ts';
import type { HealthCheck } from '../../kube/health-checks.ts';

const others = [
  '/.well-known/openid-configuration',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/',
  '/flagz',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/statusz',
  '/version',
];

/** Returns the paths that `/` lists: groups and versions, health checks and documents. */
export function rootPaths(
  kinds: readonly Kind[],
  checks: Readonly<Record<string, readonly HealthCheck[]>>,
): readonly string[] {
  const apis = groups(kinds)
    .filter(([group]) => group !== '')
    .flatMap(([group, versions]) => [
      `/apis/${group}`,
      ...versions.map((version) => `/apis/${group}/${version}`),
    ]);
  const health = Object.entries(checks).flatMap(([root, own]) => [
    `/${root}`,
    ...own.map(({ name }) => `/${root}/${name}`),
  ]);
  return [...others, ...apis, ...health].sort();
}

/** Pages that `/statusz` names: all but those of the API itself. */
export const debugPaths: readonly string[] = [
  '/flagz',
  '/healthz',
  '/livez',
  '/metrics',
  '/readyz',
  '/statusz',
  '/version',
];
