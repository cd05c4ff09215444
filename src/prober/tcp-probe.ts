import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { resolvePort } from '../kube/container-port.ts';
import { type ProbeHandler, deadline } from './prober.ts';
import { type Socket, connect } from 'node:net';
import { joinHostPort } from '../base/host-port.ts';
import { dialError } from '../go/dial-error.ts';

/** Makes the TCP probe handler, which succeeds when the port accepts a connection. Follows kubelet `probe/tcp`. */
export const tcpProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const { tcpSocket } = target.probe;
    const port = resolvePort(tcpSocket?.port ?? '', target.container.ports);
    // Kubernetes uses the pod's IP for an empty host
    const host = tcpSocket?.host === undefined || tcpSocket.host === '' ? podIp : tcpSocket.host;
    try {
      const socket = await dial(clock, { host, port, timeoutMs });
      socket.destroy();
      return { outcome: 'success', output: '' };
    } catch (reason) {
      return { outcome: 'failure', output: messageOf(reason) };
    }
  };

/** The address to connect to, and the timeout, ms. */
interface Address {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

/**
 * Opens a TCP connection.
 *
 * @throws {Error} with the message that Go has for the failure
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
