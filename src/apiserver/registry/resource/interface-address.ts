import { isIP } from 'node:net';
import { type Faults, invalid } from '../../../kube/validation/field-error.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { canonicalIp } from '../../../kube/ip.ts';

/** Returns an address and the length of its prefix in canonical form; undefined for anything else. */
function canonicalForm(value: string): string | undefined {
  const [ip = '', bits = '', ...more] = value.split('/');
  const plain = ip.includes(':') ? ip : ip.replace(/(^|\.)0+(?=[0-9])/g, '$1');
  const size = plain.includes(':') ? 128 : 32;
  if (more.length > 0 || isIP(plain) === 0 || plain.includes('%')) return undefined;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > size) return undefined;
  const shown = canonicalIp(plain);
  // an IPv4 address in the form of an IPv6 one counts its 96 leading bits
  const isMapped = !shown.includes(':') && Number(bits) > 32;
  return `${shown}/${Number(bits) - (isMapped ? 96 : 0)}`;
}

/** Validates the address of a network interface with the length of its subnet's prefix: `10.9.8.7/24`. */
export function* interfaceAddress(field: string, value: string): Faults {
  const canonical = canonicalForm(value);
  if (canonical === undefined)
    yield invalid(field, value, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
  else if (value !== canonical)
    yield invalid(field, value, `must be in canonical form (${goQuote(canonical)})`);
}
