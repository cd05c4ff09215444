import { ipFamily, canonicalIp } from './ip.ts';

/** Returns the family of the node's primary address; IPv4 when it has none. */
export const primaryFamilyOf = (nodeIPs: readonly string[]): 'IPv4' | 'IPv6' =>
  ipFamily(nodeIPs[0] ?? '') ?? 'IPv4';

/** Returns one address of each family in canonical form, the primary family first. Follows kubelet `sortPodIPs`. */
export function onePerFamily(ips: readonly string[], primary: 'IPv4' | 'IPv6'): readonly string[] {
  const texts = ips.map(canonicalIp);
  if (texts.length < 2) return texts.filter((ip) => ipFamily(ip) !== undefined);
  const secondary = primary === 'IPv4' ? 'IPv6' : 'IPv4';
  return [primary, secondary].flatMap((family) => texts.find((ip) => ipFamily(ip) === family) ?? []);
}
