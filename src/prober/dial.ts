import { connect, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { joinHostPort } from './probe-port.ts';

/** Where to connect, and how long that may take, ms. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

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
export function dialError(reason: unknown, { host, port }: Pick<Address, 'host' | 'port'>): string {
  const { code = '', message } = reason as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`;
  return `dial tcp ${joinHostPort(host, port)}: connect: ${reasons[code] ?? message}`;
}

/**
 * A connection, ready to be used.
 *
 * @throws {Error} with Go's words for why there is none
 */
export function dial(clock: Clock, address: Address): Promise<Socket> {
  const { host, port, timeoutMs } = address;
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const stop = clock.timer(timeoutMs, () => {
      socket.destroy();
      reject(new Error(`dial tcp ${joinHostPort(host, port)}: i/o timeout`));
    });
    socket.once('connect', () => {
      stop();
      resolve(socket);
    });
    socket.on('error', (reason) => {
      stop();
      reject(new Error(dialError(reason, address), { cause: reason }));
    });
  });
}
