import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { resolvePort } from '../kube/container-port.ts';
import { dial } from './dial.ts';
import type { ProbeHandler } from './prober.ts';

/** Succeeds when the port takes a connection. Follows kubelet `probe/tcp`. */
export const tcpProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const { tcpSocket } = target.probe;
    const port = resolvePort(tcpSocket?.port ?? '', target.container.ports);
    // Kubernetes takes an empty host for the pod's own
    const host = tcpSocket?.host === undefined || tcpSocket.host === '' ? podIp : tcpSocket.host;
    try {
      const socket = await dial(clock, { host, port, timeoutMs });
      socket.destroy();
      return { outcome: 'success', output: '' };
    } catch (reason) {
      return { outcome: 'failure', output: messageOf(reason) };
    }
  };
