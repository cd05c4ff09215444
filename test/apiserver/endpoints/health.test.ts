import { expect, test } from 'vitest';
import { type HealthRoot, healthChecks, healthPath } from '../../../src/apiserver/endpoints/health.ts';
import { runHealthCheck, runHealthChecks } from '../../../src/kube/health-checks.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);
const checksOf = (root: HealthRoot, failure?: unknown, stopping = new AbortController()) =>
  healthChecks({ store: { failure }, stopping: stopping.signal })[root];

test('a server that is alive need not be ready', () => {
  const stopping = new AbortController();
  stopping.abort();
  expect(runHealthChecks('livez', checksOf('livez', undefined, stopping), query(''))).toEqual({
    isHealthy: true,
    text: 'ok',
  });
  const ready = runHealthChecks('readyz', checksOf('readyz', undefined, stopping), query(''));
  expect(ready.isHealthy).toBe(false);
  expect(ready.text).toMatch(/\n\[-\]shutdown failed: reason withheld\nreadyz check failed\n$/);
});

test('a store that lost a write fails the checks of etcd, unless both are excluded', () => {
  const checks = checksOf('readyz', new Error('disk gone'));
  const outcome = (text: string): readonly string[] =>
    runHealthChecks('readyz', checks, query(text)).text.match(/\[-\][a-z-]+/g) ?? [];
  expect(outcome('')).toEqual(['[-]etcd', '[-]etcd-readiness']);
  expect(outcome('exclude=etcd')).toEqual(['[-]etcd-readiness']);
  expect(outcome('exclude=etcd&exclude=etcd-readiness&verbose')).toEqual([]);
  expect(runHealthCheck(checks, 'etcd')).toEqual({
    isHealthy: false,
    text: 'internal server error: the store could not keep an earlier write\n',
  });
});

test('checks that cannot be excluded are named in order', () => {
  const { text } = runHealthChecks(
    'livez',
    checksOf('livez'),
    query('verbose&exclude=z&exclude=a&exclude=ping'),
  );
  expect(text).toMatch(
    /^\[\+\]ping excluded: ok\n\[\+\]log ok\n\[\+\]loopback-serving-certificate ok\n\[\+\]etcd ok\n/,
  );
  expect(text).toMatch(
    /\nwarn: some health checks cannot be excluded: no matches for "a","z"\nlivez check passed\n$/,
  );
});

test('only ready servers have synced their informers', () => {
  const names = (root: HealthRoot): readonly string[] => checksOf(root).map(({ name }) => name);
  const onlyReady = names('readyz').filter((name) => !names('livez').includes(name));
  expect(onlyReady).toEqual(['etcd-readiness', 'informer-sync', 'shutdown']);
  expect(names('healthz')).toEqual(names('livez'));
});

test('a path below a root names one check, slashes included', () => {
  expect(healthPath('/readyz')).toEqual({ root: 'readyz' });
  expect(healthPath('/livez/poststarthook/rbac/bootstrap-roles')).toEqual({
    root: 'livez',
    check: 'poststarthook/rbac/bootstrap-roles',
  });
  expect(healthPath('/healthz/')).toEqual({ root: 'healthz', check: '' });
  expect(healthPath('/healthzz')).toBeUndefined();
});
