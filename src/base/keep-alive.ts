import type { Socket } from 'node:net';

/**
 * The TCP keep-alive settings of servers, and of clients whose connections may be silent for long. A peer that lost its power or its link
 * sends no FIN, and a silent `logs -f` or exec would stay open for ever. Go sends the first keep-alive after 15 s and drops the peer after
 * 150 s. Node.js sends none by default and, when enabled, drops the peer about 10 s after the first one; so the first one is sent late, to
 * survive short interruptions.
 */
export const tcpKeepAlive = { keepAlive: true, keepAliveInitialDelay: 120_000 } as const;

/** Sets {@link tcpKeepAlive} on an existing connection. */
export const keepAlive = (socket: Socket): Socket =>
  socket.setKeepAlive(tcpKeepAlive.keepAlive, tcpKeepAlive.keepAliveInitialDelay);
