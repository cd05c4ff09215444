import { single } from '../../metrics/metrics.ts';
import type { MetricFamily } from '../../metrics/family.ts';

/** The state of a certificate manager. */
export interface CertificateState {
  /** The certificate in use; `notAfter` is ms since the epoch. */
  readonly certificate: { readonly notAfter: number } | undefined;
  /** The number of failed certificate requests. */
  readonly failures: number;
}

const texts = {
  server: { ttl: "shortest TTL (time-to-live) of the Kubelet's serving", kind: 'serving' },
  client: { ttl: "TTL (time-to-live) of the Kubelet's client", kind: 'client' },
} as const;
const renewErrors = {
  server: 'kubelet_server_expiration_renew_errors',
  client: 'kubelet_certificate_manager_client_expiration_renew_errors',
} as const;

/** The metrics of a requested certificate: its remaining lifetime in whole seconds, and the number of failed requests. */
export function certificateMetrics(
  which: 'server' | 'client',
  { certificate, failures }: CertificateState,
  now: number,
): readonly MetricFamily[] {
  const { ttl, kind } = texts[which];
  return [
    single(
      `kubelet_certificate_manager_${which}_ttl_seconds`,
      'gauge',
      `Gauge of the ${ttl} certificate. The value is in seconds until certificate expiry (negative if already expired). If ${kind} certificate is invalid or unused, the value will be +INF.`,
      certificate ? Math.trunc((certificate.notAfter - now) / 1000) : Infinity,
    ),
    single(renewErrors[which], 'counter', 'Counter of certificate renewal errors.', failures),
  ];
}
