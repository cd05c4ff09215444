import { ipFamily } from '../kube/ip.ts';
import type { PodStatus } from '../kube/types.ts';
import { onePerFamily } from '../kube/address-family.ts';

/** The addresses of a pod status. */
export type StatusAddresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/** The inputs of {@link podAddresses}. */
export interface AddressInput {
  /** The pod's addresses as the runtime reports them. */
  readonly podIps: readonly string[];
  /** The node's addresses, primary first; empty while the node has none. */
  readonly hostIps: readonly string[];
  /** Which family comes first, by `--node-ip` (default IPv4). */
  readonly primaryFamily: 'IPv4' | 'IPv6';
  readonly hostNetwork: boolean;
}

/**
 * Computes the addresses of a pod status: one pod address per family, the node's primary family first. A pod on the host network takes the
 * host's addresses once; later only a missing second family is added (R227).
 */
export function podAddresses(input: AddressInput): StatusAddresses {
  const primaryHost = input.hostIps[0];
  const secondaryHost = input.hostIps[1];
  const own = onePerFamily(input.podIps, input.primaryFamily);
  const podIps = input.hostNetwork ? withHostIps(own, primaryHost, secondaryHost) : own;
  const podIp = podIps[0];
  return {
    ...(primaryHost !== undefined && { hostIP: primaryHost, hostIPs: input.hostIps.slice(0, 2).map(toIp) }),
    ...(podIp !== undefined && { podIP: podIp, podIPs: podIps.map(toIp) }),
  };
}

const toIp = (ip: string): { readonly ip: string } => ({ ip });

function withHostIps(
  own: readonly string[],
  primary: string | undefined,
  secondary: string | undefined,
): readonly string[] {
  if (primary === undefined) return own;
  const ips = own.length === 0 ? [primary] : own;
  const other = ips.length === 1 && secondary !== undefined && ipFamily(ips[0] ?? '') !== ipFamily(secondary);
  return other ? [...ips, secondary] : ips;
}

/**
 * The node's addresses for pod statuses: the first address, and the first one of the other family.
 *
 * Follows kubelet `GetNodeHostIPs`.
 */
export function hostIpsOf(addresses: readonly string[]): readonly string[] {
  const [first] = addresses;
  if (first === undefined) return [];
  const other = addresses.find((ip) => ipFamily(ip) !== ipFamily(first));
  return other === undefined ? [first] : [first, other];
}
