/** A host and a port to connect to. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The host and port of a URL, an IPv6 address without brackets. @param usual the port of a URL without one; default: that of its scheme */
export const hostPortOf = (
  { hostname, port, protocol }: Pick<URL, 'hostname' | 'port' | 'protocol'>,
  usual: number = protocol === 'https:' ? 443 : 80,
): HostPort => ({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || usual });

/**
 * How long one address of a host name is tried before the next one, ms. Node's default of 250 ms is too short for satellite and radio
 * links.
 */
export const addressPatienceMs = 3000;

/** Joins a host and a port, as Go's `net.JoinHostPort` does. */
export const joinHostPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
