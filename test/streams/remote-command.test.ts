import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket, createWebSocketStream } from 'ws';
import { systemClock } from '../../src/base/clock.ts';
import type { ServerHost } from '../../src/server/host.ts';
import type { KubeletServer } from '../../src/server/kubelet-server.ts';
import { SpdyConnection } from '../../src/streams/spdy/connection.ts';
import { openStream, spdyClient } from '../support/spdy-client.ts';
import { admin, hostWith, startServer } from '../server/support.ts';

let server: KubeletServer;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await server.close();
});

/** Prints its command, echoes stdin, and ends with the code that the command's last word names. */
const echo: NonNullable<ServerHost['exec']> = async (_container, command, { stdin, stdout, stderr }) => {
  stdout?.write(`${command.join(' ')}\n`);
  stderr?.write('to stderr\n');
  if (stdin && stdout) await pipeline(stdin, stdout, { end: false });
  return Number(command.at(-1));
};

const spdy = (path: string, protocol?: string): Promise<SpdyConnection> =>
  spdyClient({ port: server.port, path, client: admin, ...(protocol !== undefined && { protocol }) });

describe('exec over SPDY', () => {
  test('output, errors and exit code come apart', async () => {
    server = await startServer(hostWith({ exec: echo }));
    const connection = await spdy('/exec/ns/web/c?command=say&command=3&output=1&error=1');
    const [error, stdout, stderr] = await Promise.all(
      ['error', 'stdout', 'stderr'].map((type) => openStream(connection, type)),
    );
    const [status, out, err] = await Promise.all([error, stdout, stderr].map((stream) => text(stream!)));
    expect([out, err]).toEqual(['say 3\n', 'to stderr\n']);
    expect(JSON.parse(status!)).toMatchObject({
      reason: 'NonZeroExitCode',
      details: { causes: [{ message: '3' }] },
    });
  });

  test('20 MB go in and come back unchanged', async () => {
    server = await startServer(hostWith({ exec: echo }));
    const connection = await spdy('/exec/ns/web/c?command=0&input=1&output=1');
    const error = await openStream(connection, 'error');
    const stdin = await openStream(connection, 'stdin');
    const stdout = await openStream(connection, 'stdout');
    const sent = randomBytes(20 * 1024 * 1024);
    stdin.end(sent);
    const [got, status] = await Promise.all([buffer(stdout), text(error)]);
    const sum = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    expect(sum(got.subarray(2))).toBe(sum(sent));
    expect(JSON.parse(status)).toEqual({ metadata: {}, status: 'Success' });
  });

  test('a failure is reported as an internal error', async () => {
    server = await startServer(hostWith({ exec: () => Promise.reject(new Error('no such program')) }));
    const connection = await spdy('/exec/ns/web/c?command=x&output=1');
    const error = await openStream(connection, 'error');
    await openStream(connection, 'stdout');
    expect(JSON.parse(await text(error))).toMatchObject({
      message: 'Internal error occurred: error executing command in container: no such program',
      code: 500,
    });
  });
});

const webSocket = (path: string, protocols: readonly string[]): WebSocket => {
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, [...protocols], {
    rejectUnauthorized: false,
    ...admin,
  });
  closing.push(() => {
    socket.terminate();
  });
  return socket;
};

/** What a socket receives until it is closed, by channel. */
async function received(socket: WebSocket): Promise<Map<number, string>> {
  const channels = new Map<number, string>();
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? 0;
    channels.set(channel, (channels.get(channel) ?? '') + data.subarray(1).toString());
  });
  await once(socket, 'close');
  return channels;
}

describe('exec over WebSocket', () => {
  test('v5 ends stdin by a close message', async () => {
    server = await startServer(hostWith({ exec: echo }));
    const socket = webSocket('/exec/ns/web/c?command=0&input=1&output=1', ['v5.channel.k8s.io']);
    const channels = received(socket);
    await once(socket, 'open');
    socket.send(Buffer.from('\u0000hello'));
    socket.send(Buffer.from([255, 0]));
    expect(Object.fromEntries(await channels)).toEqual({
      1: '0\nhello',
      3: '{"metadata":{},"status":"Success"}',
    });
  });

  test('an unknown protocol is refused', async () => {
    server = await startServer(hostWith({ exec: echo }));
    const socket = webSocket('/exec/ns/web/c?command=0&output=1', ['v3.channel.k8s.io']);
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toContain('403');
  });
});

/** A TCP server that says back what it hears. */
async function echoServer(): Promise<number> {
  const tcp = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  closing.push(() => tcp.close());
  return (tcp.address() as AddressInfo).port;
}

const toLoopback: NonNullable<ServerHost['portForward']> = async (_pod, port, stream) => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  await Promise.all([pipeline(stream, socket), pipeline(socket, stream)]);
};

interface Innards {
  setSocket(socket: Socket, head: Buffer, options: object): void;
  _isServer: boolean;
}

/** A WebSocket with a protocol that the library's own client does not take. */
async function tunnel(path: string): Promise<WebSocket> {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
  };
  const where = { host: '127.0.0.1', port: server.port, path, rejectUnauthorized: false, agent: false };
  const request = httpsRequest({ ...where, ...admin, headers });
  request.end();
  const [answer, socket, head] = (await once(request, 'upgrade')) as [IncomingMessage, Socket, Buffer];
  expect(answer.headers['sec-websocket-protocol']).toBe('SPDY/3.1+portforward.k8s.io');
  const web = new WebSocket(null as unknown as string, undefined, { autoPong: true });
  const innards = web as unknown as Innards;
  innards._isServer = false;
  innards.setSocket(socket, head, { maxPayload: 0, skipUTF8Validation: false });
  return web;
}

describe('port-forward', () => {
  test('50 connections at a time over SPDY, each ended by halves', async () => {
    server = await startServer(hostWith({ portForward: toLoopback }));
    const port = String(await echoServer());
    const connection = await spdy('/portForward/ns/web', 'portforward.k8s.io');
    const talk = async (i: number): Promise<boolean> => {
      const headers = { port, requestid: String(i) };
      const error = await openStream(connection, 'error', headers);
      error.end();
      const data = await openStream(connection, 'data', headers);
      const sent = randomBytes(100_000);
      data.end(sent);
      const [got, failure] = await Promise.all([buffer(data), text(error)]);
      return failure === '' && got.equals(sent);
    };
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => talk(i)));
    expect(all.every(Boolean)).toBe(true);
  });

  test('SPDY inside a WebSocket', async () => {
    server = await startServer(hostWith({ portForward: toLoopback }));
    const port = String(await echoServer());
    const web = await tunnel('/portForward/ns/web');
    const connection = new SpdyConnection(createWebSocketStream(web), { clock: systemClock, idleMs: 60_000 });
    void connection.run();
    const error = await openStream(connection, 'error', { port, requestid: '1' });
    const data = await openStream(connection, 'data', { port, requestid: '1' });
    data.end('through the tunnel');
    expect([await text(data), await text(error)]).toEqual(['through the tunnel', '']);
  });

  test('a failure is reported on the error stream', async () => {
    server = await startServer(hostWith({ portForward: () => Promise.reject(new Error('refused')) }));
    const connection = await spdy('/portForward/ns/web', 'portforward.k8s.io');
    const error = await openStream(connection, 'error', { port: '9', requestid: '1' });
    await openStream(connection, 'data', { port: '9', requestid: '1' });
    expect(await text(error)).toBe('error forwarding port 9 to pod uid-web, uid : refused');
  });
});
