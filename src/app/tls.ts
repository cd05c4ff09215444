import { tableOf } from '../base/own.ts';
import { AgentError } from '../base/errors.ts';
import type { KubeletConfiguration } from '../options/kubelet/kubelet-configuration.ts';
import type { TlsSettings } from '../server/listener.ts';

/** OpenSSL's names of the cipher suites of Go's TLS 1.2. */
const suites: Readonly<Record<string, string>> = tableOf({
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
});

/** Go accepts these names, and always offers all of them. */
const ofTls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** OpenSSL's names of Go's curves, in Go's order of preference. */
const curves: ReadonlyMap<number, string> = new Map([
  [4588, 'X25519MLKEM768'],
  [4587, 'SecP256r1MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
  [29, 'X25519'],
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
]);

/**
 * Converts `tlsMinVersion`, `tlsCipherSuites` and `tlsCurvePreferences` to Node's options.
 *
 * @throws {AgentError} `invalid_argument` for unknown values, and for those that OpenSSL no longer supports
 */
export function tlsSettings({
  tlsMinVersion = '',
  tlsCipherSuites = [],
  tlsCurvePreferences = [],
}: Pick<KubeletConfiguration, 'tlsMinVersion' | 'tlsCipherSuites' | 'tlsCurvePreferences'>): Pick<
  TlsSettings,
  'ciphers' | 'ecdhCurve' | 'minVersion'
> {
  return {
    minVersion: minVersionOf(tlsMinVersion),
    ...(tlsCipherSuites.length > 0 && { ciphers: ciphersOf(tlsCipherSuites) }),
    ...(tlsCurvePreferences.length > 0 && { ecdhCurve: groupsOf(tlsCurvePreferences) }),
  };
}

function minVersionOf(name: string): 'TLSv1.2' | 'TLSv1.3' {
  if (name === '' || name === 'VersionTLS12') return 'TLSv1.2';
  if (name === 'VersionTLS13') return 'TLSv1.3';
  const message = `tlsMinVersion: ${name} is not served; allowed: VersionTLS12, VersionTLS13`;
  throw new AgentError('invalid_argument', message);
}

/** Follows component-base `cliflag.TLSCurvePreferences`. */
function groupsOf(ids: readonly number[]): string {
  for (const [i, id] of ids.entries()) {
    const fault = ids.indexOf(id) < i ? 'is given twice' : curveFault(id);
    if (fault !== undefined) throw new AgentError('invalid_argument', `tlsCurvePreferences: ${id} ${fault}`);
  }
  return [...curves].flatMap(([id, name]) => (ids.includes(id) ? [name] : [])).join(':');
}

function curveFault(id: number): string | undefined {
  if (id <= 0 || id > 65_535) return 'is out of range (must be 1-65535)';
  if (curves.has(id)) return undefined;
  return `is not served; allowed: ${[...curves.keys()].sort((a, b) => a - b).join(', ')}`;
}

function ciphersOf(names: readonly string[]): string {
  const odd = names.filter((name) => !Object.hasOwn(suites, name) && !ofTls13.includes(name));
  if (odd.length > 0) {
    const message = `tlsCipherSuites: ${odd.join(', ')} not served; allowed: ${[...ofTls13, ...Object.keys(suites)].join(', ')}`;
    throw new AgentError('invalid_argument', message);
  }
  const old = names.flatMap((name) => suites[name] ?? []);
  return [...ofTls13, ...new Set(old)].join(':');
}
