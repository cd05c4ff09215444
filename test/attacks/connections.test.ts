import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { serveHealthz, serveReadOnly } from '../../src/server/kubelet-server.ts';
import type { SpdyStream } from '../../src/streams/spdy/stream.ts';
import { admin, hostWith, startServer } from '../server/support.ts';
import { openStream, spdyClient } from '../support/spdy-client.ts';

/** Deadlines short enough to be seen, numbers small enough to be reached. */
const limits = {
  connections: 20,
  perAddress: 20,
  waiting: 20,
  headersMs: 500,
  requestMs: 500,
  keepAliveMs: 5000,
  stalledMs: 500,
  streamMs: 60_000,
};

interface Target {
  readonly port: number;
  readonly tls: boolean;
  close(): Promise<void>;
}

const host = hostWith({
  readLog: async (_log, sink, signal) => {
    await sink(Buffer.from('first\n'));
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
  },
});

/** A host whose commands and ports say what they hear. */
const echoes = hostWith({
  exec: async (_container, _command, { stdin, stdout }) => {
    if (stdin && stdout) await pipeline(stdin, stdout);
    return 0;
  },
  attach: async (_container, { stdin, stdout }) => {
    if (stdin && stdout) await pipeline(stdin, stdout);
  },
  portForward: async (_uid, _port, stream) => {
    await pipeline(stream, stream);
  },
});

const listeners: Readonly<Record<string, (more?: object) => Promise<Target>>> = {
  'kubelet API': async (more) => {
    const server = await startServer(host, { limits: { ...limits, ...more } });
    return { port: server.port, tls: true, close: () => server.close() };
  },
  'read-only port': async (more) => {
    const server = await serveReadOnly({ host, port: 0, limits: { ...limits, ...more } });
    return { port: server.port, tls: false, close: () => server.close() };
  },
  'healthz port': async (more) => {
    const server = await serveHealthz({ host, port: 0, limits: { ...limits, ...more } });
    return { port: server.port, tls: false, close: () => server.close() };
  },
  'API server': async (more) => {
    const server = await EmbeddedApiServer.start({ limits: { ...limits, ...more } });
    return { port: server.port, tls: true, close: () => server.stop() };
  },
};

let target: Target;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await target.close();
});

const followed = (socket: Socket): Socket => {
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
};

const tcp = async (): Promise<Socket> => {
  const socket = followed(connect(target.port, '127.0.0.1'));
  await once(socket, 'connect');
  return socket.resume();
};

/** A connection as clients have it, after the TLS handshake where there is one. */
async function client(): Promise<Socket> {
  if (!target.tls) return tcp();
  const socket = connectTls({ host: '127.0.0.1', port: target.port, rejectUnauthorized: false, ...admin });
  followed(socket);
  await once(socket, 'secureConnect');
  return socket.resume();
}

const head = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';

/** The status line of an answer to a new client. */
async function status(): Promise<string> {
  const socket = await client();
  const data = once(socket, 'data');
  socket.write(`${head}Connection: close\r\n\r\n`);
  return String((await data)[0]).split('\r\n')[0] ?? '';
}

/** However it ends: who hangs up with something unread resets the connection, and `once` of Node would fail at that. */
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else
      socket.once('close', () => {
        resolve();
      });
  });

const attacks: Readonly<Record<string, () => Promise<Socket>>> = {
  'say nothing': tcp,
  'begin a TLS handshake': async () => {
    const socket = await tcp();
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
    return socket;
  },
  'say nothing after the handshake': client,
  'send half a head': async () => {
    const socket = await client();
    socket.write(head);
    return socket;
  },
  'send a body byte by byte': async () => {
    const socket = await client();
    socket.write('POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n');
    const timer = setInterval(() => socket.write('x'), 50);
    socket.once('close', () => {
      clearInterval(timer);
    });
    return socket;
  },
  'send half a second head': async () => {
    const socket = await client();
    const answer = once(socket, 'data');
    socket.write(`${head}\r\n`);
    await answer;
    socket.write(head);
    return socket;
  },
};

describe.for(Object.keys(listeners))('%s', (name) => {
  const start = async (more?: object): Promise<void> => {
    const made = await listeners[name]?.(more);
    if (!made) throw new Error(name);
    target = made;
  };

  test.for(Object.keys(attacks))('many clients that %s lock nobody out, and end', async (what) => {
    await start();
    const slow: Socket[] = [];
    for (let i = 0; i < 60; i++) {
      const socket = await attacks[what]?.();
      if (socket) slow.push(socket);
    }
    expect(await status()).toMatch(/^HTTP\/1\.1 (200|401|403)/);
    await Promise.all(slow.map(closed));
    expect(await status()).toMatch(/^HTTP\/1\.1 (200|401|403)/);
  });

  test('requests sent ahead without reading are not taken in without end', async () => {
    // the flood comes from this very process, which reads the head of the new client after it: that is not the client's slowness
    await start({ headersMs: 5000, requestMs: 5000, stalledMs: 5000 });
    const socket = await client();
    socket.pause();
    const batch = `${head}\r\n`.repeat(2000);
    for (let i = 0; i < 100 && !socket.destroyed; i++) socket.write(batch);
    expect(await status()).toMatch(/^HTTP\/1\.1 (200|401|403)/);
    socket.resume();
    await closed(socket);
  });

  test('HTTP/2 is not spoken', async () => {
    await start();
    const origin = `${target.tls ? 'https' : 'http'}://127.0.0.1:${target.port}`;
    const session = connectHttp2(origin, { rejectUnauthorized: false });
    const ended = new Promise<void>((resolve) => session.once('close', resolve));
    session.on('error', () => undefined);
    const stream = session.request({ ':path': '/healthz' });
    stream.on('error', () => undefined);
    await ended;
    expect(await status()).toMatch(/^HTTP\/1\.1 (200|401|403)/);
  });
});

describe('what lasts is not cut', () => {
  test('a log that is followed outlives every deadline of requests', async () => {
    const made = await listeners['kubelet API']?.();
    if (!made) throw new Error('no listener');
    target = made;
    const socket = (await client()) as TLSSocket;
    let read = '';
    socket.on('data', (chunk: Buffer) => (read += chunk.toString()));
    socket.write('GET /containerLogs/ns/web/c?follow=true HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => read).toContain('first');
    for (let i = 0; i < 60; i++) await tcp(); // and a flood does not displace it
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(socket.closed).toBe(false);
  });

  const streams: Readonly<Record<string, { readonly path: string; readonly protocol?: string }>> = {
    exec: { path: '/exec/ns/web/c?command=x&input=1&output=1' },
    attach: { path: '/attach/ns/web/c?input=1&output=1' },
    'port-forward': { path: '/portForward/ns/web', protocol: 'portforward.k8s.io' },
  };
  test.for(Object.keys(streams))('a stream of %s does, and a flood does not displace it', async (what) => {
    const { path = '', protocol } = streams[what] ?? {};
    const server = await startServer(echoes, { limits });
    target = { port: server.port, tls: true, close: () => server.close() };
    const connection = await spdyClient({
      ...{ port: server.port, path, client: admin },
      ...(protocol !== undefined && { protocol }),
    });
    const forward = { port: '80', requestid: '1' };
    const opened = protocol === undefined ? {} : forward;
    const error = await openStream(connection, 'error', opened);
    const [into, out] =
      protocol === undefined
        ? [await openStream(connection, 'stdin'), await openStream(connection, 'stdout')]
        : Array.from<SpdyStream>({ length: 2 }).fill(await openStream(connection, 'data', forward));
    let read = '';
    out?.on('data', (chunk: Buffer) => (read += chunk.toString()));
    error.resume();
    into?.write('first');
    await expect.poll(() => read).toBe('first');
    for (let i = 0; i < 60; i++) await tcp();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    into?.write(', second');
    await expect.poll(() => read).toBe('first, second');
    connection.close();
  });

  test('a watch does, too', async () => {
    const server = await EmbeddedApiServer.start({ limits });
    target = { port: server.port, tls: true, close: () => server.stop() };
    const socket = connectTls({
      ...{ host: '127.0.0.1', port: server.port, ca: server.ca },
      ...server.admin,
    });
    followed(socket);
    await once(socket, 'secureConnect');
    let read = '';
    socket.on('data', (chunk: Buffer) => (read += chunk.toString()));
    socket.write('GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => read).toContain('ADDED');
    for (let i = 0; i < 60; i++) await tcp();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(socket.closed).toBe(false);
  });
});
