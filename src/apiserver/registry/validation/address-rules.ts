import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { goQuote } from '../../../go/go-quote.ts';
import { canonicalIp } from '../../../kube/ip.ts';
import { type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { cidrBlock, ipAddress } from '../../../kube/validation/shared.ts';
import { causeOf, type FieldFault } from '../../../apimachinery/status-error.ts';

type Family = 'ipv4' | 'ipv6';
const familyOf = (ip: string): Family => (isIPv6(ip) ? 'ipv6' : 'ipv4');

const blockOf = (...nets: readonly (readonly [net: string, bits: number])[]): BlockList => {
  const block = new BlockList();
  for (const [net, bits] of nets) block.addSubnet(net, bits, familyOf(net));
  return block;
};

const special: readonly (readonly [within: BlockList, why: string])[] = [
  [blockOf(['127.0.0.0', 8], ['::1', 128]), 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [
    blockOf(['169.254.0.0', 16], ['fe80::', 10]),
    'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    blockOf(['224.0.0.0', 24], ['ff02::', 16]),
    'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  ],
];
const unspecified = blockOf(['0.0.0.0', 32], ['::', 128]);

/** Validates an IP address. */
export const ipFaults = (field: string, ip: string): FieldFault[] => [...ipAddress(field, ip)].map(causeOf);

/** Validates a CIDR. */
export const cidrFaults = (field: string, cidr: string): FieldFault[] =>
  [...cidrBlock(field, cidr)].map(causeOf);

/** Validates that an address is not loopback, link-local or unspecified. Follows Kubernetes `ValidateNonSpecialIP`. */
export const nonSpecialFaults = (field: string, ip: string): FieldFault[] =>
  [...specialAddress(field, ip)].map(causeOf);

/** Yields errors of an address that is loopback, link-local or unspecified. */
export function* specialAddress(field: string, ip: string): Faults {
  const family = familyOf(ip);
  if (unspecified.check(ip, family)) yield invalid(field, ip, `may not be unspecified (${ip})`);
  else for (const [within, why] of special) if (within.check(ip, family)) yield invalid(field, ip, why);
}

/** Warns of an address that is not in canonical form. Follows apimachinery `GetWarningsForIP`. */
export function ipWarnings(field: string, ip: string): string[] {
  const plain = canonicalIp(ip);
  const odd = isIPv6(ip) ? isIPv4(plain) : ip !== plain;
  if (odd) return [`${field}: non-standard IP address ${goQuote(ip)} is invalid: use ${goQuote(plain)}`];
  if (!isIPv6(ip)) return [];
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' });
  return address === ip
    ? []
    : [
        `${field}: IPv6 address ${goQuote(ip)} should be in RFC 5952 canonical format (${JSON.stringify(address)})`,
      ];
}

/** Validates an IP address that must be in canonical form. Follows apimachinery `IsValidIP`. */
export function* canonicalAddress(field: string, ip: string): Faults {
  const wrong = [...ipAddress(field, ip)];
  yield* wrong;
  if (wrong.length > 0 || !isIPv6(ip)) return;
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' });
  if (address !== ip) yield invalid(field, ip, `must be in canonical form (${goQuote(address)})`);
}
