import { AgentError } from '../base/errors.ts';
import { dns1123Label, dns1123Subdomain } from './validation/name-rules.ts';
import { goQuote } from '../go/go-quote.ts';
import { nameOf, namespaceOf } from './names.ts';
import type { Pod } from './types.ts';

const longest = 63;

/** How a pod calls itself. */
export interface PodHostname {
  readonly hostname: string;
  /** The domain behind the host name; empty without a subdomain. */
  readonly domain: string;
}

/**
 * The host name and domain of a pod: its own names where set (an override wins and has no domain), else the pod's name, cut to what a host name may hold.
 *
 * Follows kubelet `GeneratePodHostNameAndDomain`.
 *
 * @throws {AgentError} `invalid_argument` a name that DNS does not allow.
 */
export function hostnameAndDomain(pod: Pod, clusterDomain: string): PodHostname {
  const { hostname: asked = '', hostnameOverride, subdomain = '' } = pod.spec ?? {};
  if (hostnameOverride !== undefined) {
    demand('HostnameOverride', hostnameOverride, 'subdomain', dns1123Subdomain(hostnameOverride));
    return { hostname: truncateHostname(nameOf(pod), hostnameOverride), domain: '' };
  }
  if (asked !== '') demand('Hostname', asked, 'label', dns1123Label(asked));
  const hostname = asked === '' ? truncateHostname(nameOf(pod), nameOf(pod)) : asked;
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
 * A host name cut to 63 bytes, without dashes and dots at the cut.
 *
 * @throws {AgentError} `invalid_argument` nothing is left.
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
