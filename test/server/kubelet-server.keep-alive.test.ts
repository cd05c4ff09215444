import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { serveReadOnly } from '../../src/server/kubelet-server.ts';
import { asksInSilence } from '../support/tcp-timers.ts';
import { admin, hostWith, startServer } from './support.ts';

/** What can be connected to, and how it is ended. */
interface Served {
  readonly port: number;
  readonly end: () => Promise<void>;
}

const servers: readonly (readonly [string, typeof connectTcp, () => Promise<Served>])[] = [
  [
    'the kubelet API',
    connectTls as typeof connectTcp,
    async () => {
      const server = await startServer(hostWith());
      return { port: server.port, end: () => server.close() };
    },
  ],
  [
    'the read-only kubelet API',
    connectTcp,
    async () => {
      const server = await serveReadOnly({ host: hostWith(), port: 0 });
      return { port: server.port, end: () => server.close() };
    },
  ],
  [
    'the embedded API server',
    connectTls as typeof connectTcp,
    async () => {
      const server = await EmbeddedApiServer.start();
      return { port: server.port, end: () => server.stop() };
    },
  ],
];

test.for(servers)('%s asks a silent client whether it is still there', async ([, connect, start]) => {
  const { port, end } = await start();
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...admin } as {
    port: number;
  });
  try {
    await once(socket, 'connect');
    const { localPort } = socket;
    expect(localPort).toBeGreaterThan(0);
    await asksInSilence({ localPort: port, remotePort: localPort });
  } finally {
    socket.destroy();
    await end();
  }
});
