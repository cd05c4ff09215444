import { modesOf } from './access.ts';
import { defaultIssuer } from './authentication/token-signer.ts';
import type { EmbeddedApiServerOptions } from './server-options.ts';

const defaults = {
  anonymous: true,
  controllers: true,
  dataDir: '',
  disableAdmissionPlugins: [],
  fsync: true,
  history: 10_000,
  host: '127.0.0.1',
  http2: true,
  metricsApi: false,
  port: 0,
  serviceClusterIpRange: '10.97.0.0/16',
} as const;

const listed = (items: readonly string[]): string => `[${items.join(',')}]`;

/**
 * Returns the settings of a server as kube-apiserver's flags, for `/flagz`. Those that kube-apiserver does not have begin with `podtender-`; keys and
 * certificates are left out.
 */
export function effectiveFlags(options: EmbeddedApiServerOptions): Readonly<Record<string, string>> {
  const all = { ...defaults, ...options };
  const { controllers } = all;
  const enabled = typeof controllers === 'boolean' ? [controllers ? '*' : 'none'] : controllers;
  return {
    'anonymous-auth': String(all.anonymous),
    'authorization-mode': listed(modesOf(options)),
    'bind-address': all.host,
    'disable-admission-plugins': listed(all.disableAdmissionPlugins),
    'disable-http2-serving': String(!all.http2),
    'secure-port': String(all.port),
    'service-account-issuer': listed([options.serviceAccounts?.issuer ?? defaultIssuer]),
    'service-cluster-ip-range': all.serviceClusterIpRange,
    'podtender-controllers': listed(enabled),
    'podtender-data-dir': all.dataDir,
    'podtender-fsync': String(all.fsync),
    'podtender-history': String(all.history),
    'podtender-metrics-api': String(all.metricsApi),
  };
}
