import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { tcpKeepAlive } from '../base/keep-alive.ts';
import type { Authority, KeyPair } from '../pki/certificates.ts';
import { BoundedConnections, type ConnectionLimits } from '../streams/bounded-connections.ts';
import { oddExchange, type ParserError, refuseUnread } from '../streams/odd-method.ts';
import { streamTimes } from '../streams/times.ts';
import { lastAnswer, Turns } from '../streams/turns.ts';
import type { Router } from './endpoints/router.ts';
import { validity } from './validity.ts';

/** Listens for HTTPS and passes every request to the router. @throws {AgentError} `unavailable` when the port is in use */
export async function listen(
  router: Router,
  authority: Authority,
  at: {
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
  },
): Promise<Server> {
  const serving = at.serving ?? issued(authority, at);
  const server = createServer({
    cert: serving.cert,
    key: serving.key,
    ca: [authority.cert, ...at.clientAuthorities],
    requestCert: true,
    rejectUnauthorized: false,
    allowPartialTrustChain: true, // as in Go, any certificate among the authorities is trusted
    minVersion: 'TLSv1.2',
    // Go's limit: the URL of an exec contains the whole command
    maxHeaderSize: 1024 * 1024,
    handshakeTimeout: connectionLimits.headersMs,
    ...tcpKeepAlive,
  });
  new BoundedConnections({ ...connectionLimits, ...at.limits }).watch(server);
  answer(server, router);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (reason: NodeJS.ErrnoException) => {
      reject(listenFailure(reason, at));
    });
    server.listen(at.port, at.host, resolve);
  });
  return server;
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

/** Passes everything to the router, including methods that Node's parser does not know. */
function answer(server: Server, router: Router): void {
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
  server.on('tlsClientError', (_reason, socket) => {
    socket.destroy();
  });
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
