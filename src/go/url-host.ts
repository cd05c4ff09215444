import { ipFault } from './ip-fault.ts';
import { escapeBytes, unescapedBytes } from './percent-encoding.ts';

/** What a host of a URL may hold as it is. */
const plain = /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/;

/** A host, with its port, as Go writes it in a URL. */
export const escapeHost = (host: string): string => escapeBytes(Buffer.from(host), plain);

/** Why Go would not read such a host with its port in a URL. Follows `net/url` `parseHost`. */
export function hostFault(escaped: string): string | undefined {
  const open = escaped.lastIndexOf('[');
  if (open > 0) return 'invalid IP-literal';
  return open === 0 ? literalFault(escaped) : escapeFault(escaped, /%(?!25)[0-7]./);
}

function literalFault(escaped: string): string | undefined {
  const close = escaped.lastIndexOf(']');
  if (close < 0) return "missing ']' in host";
  const [inside, port] = [escaped.slice(1, close), escaped.slice(close + 1)];
  if (!/^(?::[0-9]*)?$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  const cut = inside.indexOf('%25');
  const [host, zone] = cut < 0 ? [inside, ''] : [inside.slice(0, cut), inside.slice(cut)];
  // of a zone only a percent sign and blanks may be escaped
  const broken = escapeFault(host, /%(?!25)[0-7]./) ?? escapeFault(zone, /%(?!25|20)../);
  if (broken !== undefined) return broken;
  const address = unescapedBytes(inside).toString();
  const fault = ipFault(address);
  if (fault !== undefined) return `invalid host: ${fault}`;
  return address.includes(':') ? undefined : 'invalid IP-literal';
}

const escapeFault = (escaped: string, broken: RegExp): string | undefined => {
  const found = broken.exec(escaped)?.[0];
  return found === undefined ? undefined : `invalid URL escape "${found}"`;
};
