import type { Socket } from 'node:net';

/**
 * Settings of what accepts connections, and of what opens those that may be silent for long. Whose machine lost its power or its link does not say goodbye: a silent
 * `logs -f` or exec would stay for ever, and what it runs with it. Go asks such a peer after 15 s and gives it up after 150; Node.js does not ask by itself, and
 * if it does gives up within ten seconds more, so it begins late, to outlast a link that is away for a moment.
 */
export const tcpKeepAlive = { keepAlive: true, keepAliveInitialDelay: 120_000 } as const;

/** {@link tcpKeepAlive} for a connection that somebody else opened. */
export const keepAlive = (socket: Socket): Socket =>
  socket.setKeepAlive(tcpKeepAlive.keepAlive, tcpKeepAlive.keepAliveInitialDelay);
