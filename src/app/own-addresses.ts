import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';

/** Returns the names by which others reach a server that listens on all addresses. */
export function ownNames(host: string): readonly string[] {
  if (host !== '0.0.0.0' && host !== '::') return [];
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address),
  );
  return [hostname(), ...addresses.filter((address) => !address.startsWith('fe80:'))];
}

/**
 * Returns the address that endpoints of the server name, as kube-apiserver chooses it: the one that it listens on, or the machine's first if that
 * is a wildcard or loopback address.
 */
export function advertised(host: string): { readonly advertiseAddress?: string } {
  const isOpen = isIP(host) > 0 && !['0.0.0.0', '::', '::1'].includes(host) && !host.startsWith('127.');
  if (isOpen) return { advertiseAddress: host };
  const own = machineAddress();
  return own === undefined ? {} : { advertiseAddress: own };
}

/** Returns the machine's first IPv4 address that is not of the loopback interface; undefined on a machine without a network. */
export function machineAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

/** Returns this machine's address for others; loopback on a machine without a network. */
export const hostAddress = (): string => machineAddress() ?? '127.0.0.1';
