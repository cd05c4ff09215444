import { goQuote } from './go-quote.ts';

/** Returns why a text is not an IP address, in Go's words. Follows `netip.ParseAddr`. */
export function ipFault(text: string): string | undefined {
  const fault = faultOf(text);
  return fault === undefined ? undefined : `ParseAddr(${goQuote(text)}): ${fault}`;
}

function faultOf(text: string): string | undefined {
  switch (/[.:%]/.exec(text)?.[0]) {
    case '.':
      return ipv4Fault(text);
    case ':':
      return ipv6Fault(text);
    case '%':
      return 'missing IPv6 address';
    default:
      return 'unable to parse IP';
  }
}

const at = (what: string, rest: string): string => `${what} (at ${goQuote(rest)})`;

function ipv4Fault(text: string): string | undefined {
  let [digits, dots] = ['', 0];
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (/[0-9]/.test(char)) {
      if (digits === '0') return 'IPv4 field has octet with leading zero';
      digits += char;
      if (Number(digits) > 255) return 'IPv4 field has value >255';
    } else if (char !== '.') return at('unexpected character', text.slice(i));
    else if (digits === '' || i === text.length - 1)
      return at('IPv4 field must have at least one digit', text.slice(i));
    else if (dots === 3) return 'IPv4 address too long';
    else {
      dots++;
      digits = '';
    }
  }
  return dots < 3 ? 'IPv4 address too short' : undefined;
}

/** State of parsing an IPv6 address. */
interface Reading {
  rest: string;
  /** Number of fields read, at most eight. */
  fields: number;
  ellipsis: boolean;
}

function ipv6Fault(text: string): string | undefined {
  const zone = text.indexOf('%');
  if (zone === text.length - 1) return 'zone must be a non-empty string';
  const address = zone < 0 ? text : text.slice(0, zone);
  const ellipsis = address.startsWith('::');
  const reading: Reading = { rest: ellipsis ? address.slice(2) : address, fields: 0, ellipsis };
  if (address === '::') return undefined;
  do {
    const fault = readField(reading);
    if (fault !== undefined) return fault;
  } while (reading.fields < 8 && reading.rest !== '');
  return endFault(reading);
}

function endFault({ rest, fields, ellipsis }: Reading): string | undefined {
  if (rest !== '') return at('trailing garbage after address', rest);
  if (fields < 8) return ellipsis ? undefined : 'address string too short';
  return ellipsis ? 'the :: must expand to at least one field of zeros' : undefined;
}

function readField(reading: Reading): string | undefined {
  const { rest } = reading;
  const digits = /^[0-9a-fA-F]*/.exec(rest)?.[0] ?? '';
  if (digits.length > 4) return at('each group must have 4 or less digits', rest);
  if (digits === '') return at('each colon-separated field must have at least one digit', rest);
  if (rest[digits.length] === '.') return readIpv4(reading);
  reading.fields++;
  const next = rest.slice(digits.length);
  if (next !== '' && !next.startsWith(':')) return at('unexpected character, want colon', next);
  if (next === ':') return at('colon must be followed by more characters', next);
  reading.rest = next.slice(1);
  if (!reading.rest.startsWith(':')) return undefined;
  if (reading.ellipsis) return at('multiple :: in address', reading.rest);
  reading.ellipsis = true;
  reading.rest = reading.rest.slice(1);
  return undefined;
}

/** Reads the last two fields as an IPv4 address. */
function readIpv4(reading: Reading): string | undefined {
  const { rest, fields, ellipsis } = reading;
  if (!ellipsis && fields !== 6)
    return at('embedded IPv4 address must replace the final 2 fields of the address', rest);
  if (fields > 6) return at('too many hex fields to fit an embedded IPv4 at the end of the address', rest);
  reading.rest = '';
  reading.fields += 2;
  return ipv4Fault(rest);
}
