import { isIPv4, isIPv6 } from 'node:net';

/** Returns the family of an IP address in canonical form; `undefined` for other text and for addresses with a zone. */
export function ipFamily(ip: string): 'IPv4' | 'IPv6' | undefined {
  if (isIPv4(ip)) return 'IPv4';
  return isIPv6(ip) && !ip.includes('%') ? 'IPv6' : undefined;
}

const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

const leadingZeros = /(^|\.)0+(?=\d)/g;

/**
 * Returns the canonical form of an IP address (`fd00:0:0::9` → `fd00::9`, `::ffff:10.0.0.1` → `10.0.0.1`); other text is returned
 * unchanged.
 * Numbers with leading zeros are decimal, as in Go's `ParseIPSloppy`.
 */
export function canonicalIp(ip: string): string {
  if (/^\d+(\.\d+){3}$/.test(ip)) return ip.replaceAll(leadingZeros, '$1');
  if (!isIPv6(ip) || ip.includes('%')) return ip;
  const text = new URL(`http://[${ip}]/`).hostname.slice(1, -1);
  const v4 = mapped.exec(text);
  if (!v4) return text;
  const [high, low] = [Number.parseInt(v4[1] ?? '', 16), Number.parseInt(v4[2] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Returns an IP address in canonical form as a number, and how many bits it has. */
function numberOf(ip: string): readonly [value: bigint, width: number] {
  const join = (parts: readonly string[], base: number, bits: bigint): bigint =>
    parts.reduce((sum, part) => (sum << bits) | BigInt(Number.parseInt(part, base)), 0n);
  if (isIPv4(ip)) return [join(ip.split('.'), 10, 8n), 32];
  const [head = '', tail = ''] = ip.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [join([...first, ...zeros, ...last], 16, 16n), 128];
}

/** True when an address has bits beyond the length of its prefix: `10.0.0.1/8`. */
export function hasHostBits(ip: string, prefix: number): boolean {
  const [value, width] = numberOf(canonicalIp(ip));
  return (value & ((1n << BigInt(width - prefix)) - 1n)) !== 0n;
}

/** Returns an IPv4 address as a number; `undefined` for other text. */
export const ipv4Number = (ip: string): number | undefined =>
  isIPv4(ip) ? Number(numberOf(ip)[0]) : undefined;

/** Returns the text of an IPv4 address, `10.0.0.1`, from its number. */
export const ipv4Text = (value: number): string =>
  [24, 16, 8, 0].map((bits) => (value >>> bits) & 255).join('.');
