import { connect, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { dialError, joinHostPort } from '../go/dial-error.ts';
import { deadline } from './deadline.ts';

/** Where to connect, and how long that may take, ms. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
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
    const stop = deadline(clock, timeoutMs, () => {
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
