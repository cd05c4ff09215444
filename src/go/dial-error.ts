/** Where to connect. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Where a URL leads, an address of IPv6 without its brackets. @param usual the port where it names none; default: its scheme's, of HTTP */
export const hostPortOf = (
  { hostname, port, protocol }: Pick<URL, 'hostname' | 'port' | 'protocol'>,
  usual: number = protocol === 'https:' ? 443 : 80,
): HostPort => ({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || usual });

/**
 * For how long one of several addresses of a name is tried before the next, ms. Node.js gives each 250 ms and gives up: too little for links by satellite or radio.
 */
export const addressPatienceMs = 3000;

/** A host and a port as Go's `net.JoinHostPort` writes them. */
export const joinHostPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ECONNRESET: 'connection reset by peer',
  ETIMEDOUT: 'connection timed out',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
};

/** What Go says of a connection that could not be made. */
export function dialError(reason: unknown, { host, port }: HostPort): string {
  const { code = '', message } = reason as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`;
  return `dial tcp ${joinHostPort(host, port)}: connect: ${reasons[code] ?? message}`;
}
