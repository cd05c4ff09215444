import { type HealthCheck, log, ping } from '../../kube/health-checks.ts';

/** What the health of a server depends on. */
export interface Vitals {
  readonly store: { readonly failure: unknown };
  readonly stopping: AbortSignal;
}

const roots = ['healthz', 'livez', 'readyz'] as const;
export type HealthRoot = (typeof roots)[number];

/**
 * What a kube-apiserver begins after its start, in its order; podtender has done the same, or needs nothing of that name, before it answers the
 * first request.
 */
const hooks: readonly string[] = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'peer-endpoint-reconciler-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'aggregator-reload-proxy-client-cert',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
];
const lastHooks: readonly string[] = ['apiservice-openapi-controller', 'apiservice-openapiv3-controller'];

const passes = (name: string): HealthCheck => ({ name, check: () => undefined });
const hook = (name: string): HealthCheck => passes(`poststarthook/${name}`);

/**
 * Returns the checks below `/healthz`, `/livez` and `/readyz`, by kube-apiserver's names (v1.36). `etcd` stands for the store: it fails once an
 * earlier write could not be kept. `shutdown` fails when the server stops.
 */
export function healthChecks({
  store,
  stopping,
}: Vitals): Readonly<Record<HealthRoot, readonly HealthCheck[]>> {
  const loss = (): string | undefined =>
    store.failure === undefined ? undefined : 'the store could not keep an earlier write';
  const etcd = { name: 'etcd', check: loss };
  const started = [...hooks.map(hook), passes('autoregister-completion'), ...lastHooks.map(hook)];
  const alive = [ping, log, passes('loopback-serving-certificate'), etcd, ...started];
  const shutdown = {
    name: 'shutdown',
    check: () => (stopping.aborted ? 'process is shutting down' : undefined),
  };
  return {
    healthz: alive,
    livez: alive,
    readyz: [
      ping,
      log,
      etcd,
      { name: 'etcd-readiness', check: loss },
      passes('informer-sync'),
      ...started,
      shutdown,
    ],
  };
}

/** Returns the root of a path that asks for health, and the name of a single check below it. */
export function healthPath(path: string): { readonly root: HealthRoot; readonly check?: string } | undefined {
  for (const root of roots) {
    if (path === `/${root}`) return { root };
    if (path.startsWith(`/${root}/`)) return { root, check: path.slice(root.length + 2) };
  }
  return undefined;
}
