import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type Server } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { tcpKeepAlive } from '../base/keep-alive.ts';
import type { Authority, KeyPair } from '../pki/certificates.ts';
import { BoundedConnections, type ConnectionLimits } from '../streams/bounded-connections.ts';
import { http2Server } from '../streams/http2-messages.ts';
import { oddExchange, type ParserError, refuseUnread } from '../streams/odd-method.ts';
import { streamTimes } from '../streams/times.ts';
import { lastAnswer, Turns } from '../streams/turns.ts';
import type { Router } from './endpoints/router.ts';
import { validity } from './validity.ts';

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly limits?: Partial<ConnectionLimits> | undefined;
  /** Certificate and key; absent: issued by the authority. */
  readonly serving?: KeyPair;
  /** Names for an issued certificate, besides the server's own. */
  readonly hosts: readonly string[];
  /** Authorities of client certificates besides the server's own. */
  readonly clientAuthorities: readonly string[];
  /** Whether clients may choose HTTP/2. */
  readonly http2: boolean;
}

/** A listening server. */
export interface Listening {
  readonly port: number;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** Listens for HTTPS, HTTP/1.1 and HTTP/2, and passes every request to the router. @throws {AgentError} `unavailable` when the port is in use */
export async function listen(router: Router, authority: Authority, at: ListenOptions): Promise<Listening> {
  const serving = at.serving ?? issued(authority, at);
  const front = createTlsServer({
    cert: serving.cert,
    key: serving.key,
    ca: [authority.cert, ...at.clientAuthorities],
    requestCert: true,
    rejectUnauthorized: false,
    allowPartialTrustChain: true, // as in Go, any certificate among the authorities is trusted
    minVersion: 'TLSv1.2',
    handshakeTimeout: connectionLimits.headersMs,
    ALPNProtocols: at.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    noDelay: true,
    ...tcpKeepAlive,
  });
  const connections = new BoundedConnections({ ...connectionLimits, ...at.limits });
  const end = serve(front, router, connections);
  await new Promise<void>((resolve, reject) => {
    front.once('error', (reason: NodeJS.ErrnoException) => {
      reject(listenFailure(reason, at));
    });
    front.listen(at.port, at.host, resolve);
  });
  return {
    port: (front.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        front.close(() => {
          resolve();
        });
        end();
      }),
  };
}

/** Serves the connections of a TLS server by the protocol that each has negotiated. @returns what ends them all */
function serve(front: Server, router: Router, connections: BoundedConnections): () => void {
  // Go's limit of the headers: the URL of an exec contains the whole command
  const http1 = createServer({ maxHeaderSize: 1024 * 1024 });
  const http2 = http2Server((request, response) => {
    router.handle(request, response).catch(() => response.destroy());
  });
  connections.watch(http1, false);
  connections.watchHttp2(http2);
  const upgraded = answer(http1, router);
  const sessions = new Set<ServerHttp2Session>();
  http2.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  // all of them, also those in their handshake: a server that does not listen itself, like http1, tracks no connections
  const sockets = new Set<Socket>();
  front.prependListener('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    connections.admit(socket);
  });
  front.on('secureConnection', (socket) => {
    (socket.alpnProtocol === 'h2' ? http2 : http1).emit('connection', socket);
  });
  front.on('tlsClientError', (_reason, socket) => {
    socket.destroy();
  });
  return () => {
    for (const session of sessions) session.destroy();
    for (const socket of upgraded) socket.destroy();
    for (const socket of sockets) socket.destroy();
  };
}

/** Issues the server's certificate for the names and addresses by which clients may reach it. */
function issued(
  authority: Authority,
  { clock, host, hosts }: { readonly clock: Clock; readonly host: string; readonly hosts: readonly string[] },
): KeyPair {
  const own = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  return authority.issue({
    subject: { commonName: 'kube-apiserver' },
    ...validity(clock, 10),
    usages: ['server auth'],
    hosts: [...new Set([...own, host, ...hosts])],
  });
}

/**
 * Limits of the server's connections. One address may use all of them, since pods and clients share this machine's; fewer may be idle, so
 * that idle clients do not hold memory. The timeouts are kube-apiserver's where it has one.
 */
const connectionLimits: ConnectionLimits = {
  connections: 16_384,
  perAddress: 16_384,
  waiting: 4096,
  headersMs: 32_000,
  requestMs: 60_000,
  keepAliveMs: 120_000,
  stalledMs: 5 * 60_000,
  streamMs: streamTimes.idleMs,
};

/** Passes everything to the router, including methods that Node's parser does not know. @returns connections that Node no longer tracks */
function answer(server: HttpServer, router: Router): ReadonlySet<Duplex> {
  const upgraded = new Set<Duplex>();
  const turns = new Turns();
  const handle = (request: IncomingMessage, response: ServerResponse, head?: Buffer): void => {
    turns.note(response);
    route(request, response, head);
  };
  const route = (request: IncomingMessage, response: ServerResponse, head?: Buffer): void => {
    router.handle(request, response, head).catch(() => request.socket.destroy());
  };
  const inTurn = (socket: Duplex, act: () => void): void => {
    const acted = turns.before(socket).then((open) => {
      if (open) act();
    });
    acted.catch(() => socket.destroy());
  };
  server.on('request', (request, response) => {
    turns.next(response).then(
      (open) => {
        if (open) route(request, response);
      },
      () => request.socket.destroy(),
    );
  });
  server.on('upgrade', (request, socket, head: Buffer) => {
    socket.on('error', () => undefined);
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    inTurn(socket, () => {
      handle(request, lastAnswer(request, socket as Socket), head);
    });
  });
  server.on('clientError', (error: ParserError, socket: Socket) => {
    inTurn(socket, () => {
      const odd = socket.writable ? oddExchange(error, socket) : undefined;
      if (odd) handle(odd.request, odd.response);
      else if (socket.writable) refuseUnread(error, socket);
      else socket.destroy();
    });
  });
  return upgraded;
}

function listenFailure(
  reason: NodeJS.ErrnoException,
  at: { readonly host: string; readonly port: number },
): AgentError {
  const where = `${at.host}:${at.port}`;
  const text =
    reason.code === 'EADDRINUSE'
      ? `port ${where} is in use by another program: stop it or choose another port`
      : `cannot listen on ${where}: ${messageOf(reason)}`;
  return new AgentError('unavailable', text, { cause: reason });
}
