import { AgentError } from '../base/errors.ts';
import { dns1123Label, dns1123Subdomain } from './validation/name-rules.ts';
import { goQuote } from '../go/go-quote.ts';
import { nameOf, namespaceOf } from './names.ts';
import type { Pod } from './types.ts';

const longest = 63;

/** A pod's host name and domain. */
export interface PodHostname {
  readonly hostname: string;
  /** Domain of the host name; empty without a subdomain. */
  readonly domain: string;
}

/**
 * Returns the host name and domain of a pod: its own names where set (an override takes precedence and has no domain), otherwise the pod's
 * name, truncated to a valid host name.
 *
 * Follows kubelet `GeneratePodHostNameAndDomain`.
 *
 * @throws {AgentError} `invalid_argument` for a name that is not valid in DNS
 */
export function hostnameAndDomain(pod: Pod, clusterDomain: string): PodHostname {
  const { hostname: specHostname = '', hostnameOverride, subdomain = '' } = pod.spec ?? {};
  if (hostnameOverride !== undefined) {
    demand('HostnameOverride', hostnameOverride, 'subdomain', dns1123Subdomain(hostnameOverride));
    return { hostname: truncateHostname(nameOf(pod), hostnameOverride), domain: '' };
  }
  if (specHostname !== '') demand('Hostname', specHostname, 'label', dns1123Label(specHostname));
  const hostname = specHostname === '' ? truncateHostname(nameOf(pod), nameOf(pod)) : specHostname;
  if (subdomain === '') return { hostname, domain: '' };
  demand('Subdomain', subdomain, 'label', dns1123Label(subdomain));
  return { hostname, domain: `${subdomain}.${namespaceOf(pod)}.svc.${clusterDomain}` };
}

function demand(field: string, value: string, kind: string, faults: readonly string[]): void {
  if (faults.length > 0)
    throw new AgentError(
      'invalid_argument',
      `pod ${field} ${goQuote(value)} is not a valid DNS ${kind}: ${faults.join(';')}`,
    );
}

/**
 * Truncates a host name to 63 bytes, without trailing dashes and dots.
 *
 * @throws {AgentError} `invalid_argument` when nothing is left
 */
export function truncateHostname(podName: string, hostname: string): string {
  if (hostname.length <= longest) return hostname;
  const cut = hostname.slice(0, longest).replace(/[-.]+$/, '');
  if (cut === '')
    throw new AgentError(
      'invalid_argument',
      `hostname for pod ${goQuote(podName)} was invalid: ${goQuote(hostname)}`,
    );
  return cut;
}
