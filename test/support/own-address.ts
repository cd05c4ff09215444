import { networkInterfaces } from 'node:os';

/** An address of this machine that is not loopback. @throws {Error} when it has none */
export function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('cannot be played here: the machine has no address but loopback');
  return found.address;
}
