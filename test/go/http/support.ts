import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type HttpClient, httpGet, TimeoutReached } from '../../../src/go/http/client.ts';
import type { HttpGetRequest } from '../../../src/go/http/request.ts';
import { Authority, hour } from '../../../src/pki/certificates.ts';
import { httpGetRequest } from '../../../src/kube/http-get-action.ts';
import type { Probe } from '../../../src/kube/types.ts';

const opened: { close(): unknown }[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

/** Listens until the test is over. @returns the port */
export async function listen(server: Server): Promise<number> {
  opened.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that does something once it was asked. */
export const asked = (answer: (socket: Socket, request: Buffer) => void): Promise<number> =>
  listen(
    createServer({ allowHalfOpen: true }, (socket) =>
      socket.once('data', (request) => {
        answer(socket, request);
      }),
    ),
  );

/** Key and certificate of a server. */
export const serverKey = Authority.create('test', Date.now()).issue({
  subject: { commonName: 'server' },
  notBefore: Date.now() - hour,
  notAfter: Date.now() + hour,
  usages: ['server auth'],
});

export const probeClient: HttpClient = { clock: systemClock, http2: true, extra: [['Connection', 'close']] };

export const requestOf = (
  port: number,
  action: Partial<NonNullable<Probe['httpGet']>> = {},
): HttpGetRequest =>
  httpGetRequest({ httpGet: { port, path: '/p', ...action }, podIp: '127.0.0.1', ports: undefined });

/** What comes of a request: status and body, or the fault, with the port masked. */
export async function outcomeOf(
  request: HttpGetRequest,
  { client = probeClient, timeoutMs = 2000 } = {},
): Promise<string> {
  const abort = new AbortController();
  const stop = client.clock.timer(timeoutMs, () => {
    abort.abort(new TimeoutReached());
  });
  try {
    const answer = await httpGet(request, client, abort.signal);
    const body = await answer.read(10_240).finally(() => {
      answer.close();
    });
    return `${answer.statusCode} ${body.length > 99 ? body.length : body.toString()}`;
  } catch (reason) {
    return (reason as Error).message
      .replaceAll(`:${request.url.port}`, ':PORT')
      .replace(/tcp 127[^>]*>/, 'tcp CLIENT->');
  } finally {
    stop();
  }
}
