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
