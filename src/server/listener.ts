import { type IncomingMessage, Server as HttpServer, type ServerResponse } from 'node:http';
import { createServer as createPlainServer } from 'node:http';
import { createServer as createTlsServer, Server as HttpsServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { tcpKeepAlive } from '../base/keep-alive.ts';
import type { Logger } from '../base/logger.ts';
import { oddExchange, type ParserError, refuseUnread } from '../streams/odd-method.ts';
import { BoundedConnections, type ConnectionLimits } from '../streams/bounded-connections.ts';
import { streamTimes } from '../streams/times.ts';
import { lastAnswer, Turns } from '../streams/turns.ts';
import type { Reply, ReplySink, ServerRequest } from './reply.ts';

/** TLS settings of a listener. */
export interface TlsSettings {
  /** PEM, with intermediates; absent together with `key`: no handshake succeeds. */
  readonly cert?: string;
  readonly key?: string;
  /** Client CA bundle, PEM; absent: no client certificate is requested. */
  readonly clientCa?: string;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL cipher names, joined by `:`; default: Node's. */
  readonly ciphers?: string;
  /** OpenSSL group names, joined by `:`; default: Node's. */
  readonly ecdhCurve?: string;
}

/** Limits on what one client may send to the listener. */
export interface ListenerLimits extends ConnectionLimits {
  /** Maximum size of the request line and headers; the request line holds the command of an exec. */
  readonly headerBytes: number;
  /** Maximum size of a body; the kubelet API takes only small ones. */
  readonly bodyBytes: number;
}

export const listenerLimits: ListenerLimits = {
  headerBytes: 1024 * 1024,
  headersMs: 10_000,
  requestMs: 20_000,
  keepAliveMs: 90_000,
  stalledMs: 60_000,
  streamMs: streamTimes.idleMs,
  connections: 4096,
  perAddress: 2048,
  bodyBytes: 1024 * 1024,
};

export interface ListenerOptions {
  readonly handle: (request: ServerRequest) => Promise<Reply>;
  readonly logger: Logger;
  readonly tls?: TlsSettings;
  /** An existing server to serve on; its owner starts and closes it. */
  readonly server?: HttpServer | HttpsServer;
  readonly limits?: Partial<ListenerLimits>;
  /** Clock for connection deadlines; default: the machine's. */
  readonly clock?: Clock;
}

/** Each layer of a tunnelled stream listens for the socket's end. */
const mostListeners = 40;

/** Small chunks of a streamed body are sent together, up to this many bytes. */
const mostGathered = 32 * 1024;

/** First byte of a TLS handshake record. */
const tlsHandshake = 0x16;
const plainHttpAnswer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Listener accepts sockets, passes requests to `handle` and writes replies with backpressure. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #server: HttpServer | HttpsServer;
  /** The listening server: with TLS, a plain TCP server that looks at the first byte. */
  readonly #front: TcpServer;
  readonly #upgraded = new Set<Duplex>();
  readonly #connections: BoundedConnections;
  readonly #turns = new Turns();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = { ...listenerLimits, ...options.limits };
    this.#server = options.server ?? this.#make();
    const own = options.server === undefined;
    this.#front = own && this.#server instanceof HttpsServer ? this.#sniffer(this.#server) : this.#server;
    this.#connections = new BoundedConnections(this.#limits, options.clock);
    if (own) this.#connections.watch(this.#server, this.#front === this.#server);
    this.#server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      this.#guard(this.#serve(message, response), message.socket);
    });
    this.#server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#guard(this.#serveUpgrade(message, socket as Socket, head), socket);
    });
    this.#server.on('clientError', (error: ParserError, socket: Duplex) => {
      this.#guard(this.#refuse(error, socket as Socket), socket);
    });
  }

  /** Contains any error of one connection: only that connection ends. */
  #guard(served: Promise<void>, socket: Duplex): void {
    served.catch((reason: unknown) => {
      this.#options.logger.warn('connection ended by an internal error', { err: reason });
      socket.destroy();
    });
  }

  /** @returns the port it listens on */
  async listen(port: number, address: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#front.once('error', reject);
      this.#front.listen(port, address, () => {
        this.#front.off('error', reject);
        resolve();
      });
    });
    return (this.#front.address() as AddressInfo).port;
  }

  /** Closes the listener and all connections at once. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#front.close(() => {
        resolve();
      });
    });
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    await closed;
  }

  /** Replaces the TLS settings for new connections. */
  renew(tls: TlsSettings): void {
    if (this.#server instanceof HttpsServer) this.#server.setSecureContext(secureOptions(tls));
  }

  #make(): HttpServer | HttpsServer {
    const { headerBytes, headersMs } = this.#limits;
    const http = {
      maxHeaderSize: headerBytes,
      connectionsCheckingInterval: Math.max(100, Math.min(5000, headersMs / 2)),
      insecureHTTPParser: false,
      ...tcpKeepAlive,
    };
    const { tls } = this.#options;
    if (!tls) return createPlainServer(http);
    return createTlsServer({ ...http, ...secureOptions(tls), handshakeTimeout: headersMs });
  }

  /** Handles what Node's parser rejects: an unknown method is answered like any other; the rest is not HTTP. */
  async #refuse(error: ParserError, socket: Socket): Promise<void> {
    if (!(await this.#turns.before(socket))) return;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const odd = oddExchange(error, socket);
    if (odd) await this.#serve(odd.request, odd.response);
    else refuseUnread(error, socket);
  }

  /** Answers plain HTTP on a TLS port as Go's server does, and passes TLS connections on. */
  #sniffer(server: HttpsServer): TcpServer {
    return createTcpServer({ allowHalfOpen: true, noDelay: true, ...tcpKeepAlive }, (socket) => {
      socket.on('error', () => undefined);
      if (!this.#connections.admit(socket)) return;
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      socket.once('data', (first: Buffer) => {
        socket.pause();
        if (first[0] === tlsHandshake) {
          socket.unshift(first);
          server.emit('connection', socket);
        } else socket.end(plainHttpAnswer);
      });
      socket.once('end', () => {
        socket.end();
      });
    });
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.on('error', () => undefined);
    response.on('error', () => undefined);
    if (!(await this.#turns.next(response))) return;
    this.#limitBody(message, response);
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
    });
    const reply = await this.#options.handle(requestOf(message, gone.signal));
    if (reply.upgrade) return; // an upgrade is answered only by the upgrade event
    message.resume();
    await this.#send(reply, response, gone.signal);
  }

  #limitBody(message: IncomingMessage, response: ServerResponse): void {
    let left = this.#limits.bodyBytes;
    message.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) response.destroy();
    });
    message.pause();
  }

  /** Serves a request that offers an upgrade; if the reply is an ordinary one, the connection closes after it. */
  async #serveUpgrade(message: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const gone = new AbortController();
    this.#upgraded.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#upgraded.delete(socket);
      gone.abort();
    });
    if (!(await this.#turns.before(socket))) return;
    const reply = await this.#options.handle(requestOf(message, gone.signal));
    if (socket.destroyed) return;
    if (reply.upgrade) {
      await this.#upgrade(reply.upgrade, socket, head);
      return;
    }
    await this.#send(reply, lastAnswer(message, socket), gone.signal);
  }

  async #upgrade(upgrade: NonNullable<Reply['upgrade']>, socket: Socket, head: Buffer): Promise<void> {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.setMaxListeners(mostListeners);
    try {
      await upgrade(socket, head);
    } catch (reason) {
      this.#options.logger.debug('stream ended early', { err: messageOf(reason) });
      socket.destroy();
    }
  }

  async #send(reply: Reply, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { status, headers, body } = reply;
    if (typeof body === 'object' && 'stream' in body) {
      response.statusCode = status;
      setHeaders(response, headers);
      if (response.socket && !this.#options.server) this.#connections.allowPauses(response.socket);
      const sink = sinkOf(response, signal);
      try {
        await body.stream(sink);
        sink.flush();
        response.end();
      } catch (reason) {
        sink.flush();
        if (response.headersSent || signal.aborted) {
          if (!signal.aborted) this.#options.logger.debug('response ended early', { err: messageOf(reason) });
          response.destroy();
          return;
        }
        for (const name of response.getHeaderNames()) response.removeHeader(name);
        await this.#send(body.otherwise(reason), response, signal);
      }
      return;
    }
    response.statusCode = status;
    setHeaders(response, headers);
    response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(response.req.method === 'HEAD' ? undefined : body);
  }
}

const setHeaders = (response: ServerResponse, headers: Reply['headers']): void => {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
};

const secureOptions = ({
  cert,
  key,
  clientCa,
  minVersion = 'TLSv1.2',
  ciphers,
  ecdhCurve,
}: TlsSettings): object => ({
  ...(cert !== undefined && { cert, key }),
  minVersion,
  ...(ciphers !== undefined && { ciphers }),
  ...(ecdhCurve !== undefined && { ecdhCurve }),
  ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
});

/** Returns a sink over a response: a write waits while the socket's buffer is full. */
function sinkOf(
  response: ServerResponse,
  signal: AbortSignal,
): ReplySink & { readonly flush: () => boolean } {
  let gathered: Buffer[] = [];
  let bytesGathered = 0;
  const flush = (): boolean => {
    const bytes = gathered.length === 1 ? gathered[0] : Buffer.concat(gathered);
    gathered = [];
    bytesGathered = 0;
    return !bytes || bytes.length === 0 || response.destroyed || response.write(bytes);
  };
  return {
    flush,
    flushHeaders: () => {
      if (!response.headersSent && !response.destroyed) response.flushHeaders();
    },
    write: (bytes) => {
      signal.throwIfAborted();
      if (gathered.length === 0) setImmediate(flush);
      gathered.push(Buffer.from(bytes));
      bytesGathered += bytes.length;
      if (bytesGathered < mostGathered || flush()) return undefined;
      return new Promise<void>((resolve, reject) => {
        const drained = (): void => {
          signal.removeEventListener('abort', aborted);
          resolve();
        };
        const aborted = (): void => {
          response.off('drain', drained);
          reject(signal.reason as Error);
        };
        response.once('drain', drained);
        signal.addEventListener('abort', aborted, { once: true });
      });
    },
  };
}

function requestOf(message: IncomingMessage, signal: AbortSignal): ServerRequest {
  const peer = peerOf(message.socket);
  const { localAddress } = message.socket;
  return {
    method: message.method ?? 'GET',
    target: message.url ?? '/',
    headers: message.headers,
    signal,
    ...(localAddress !== undefined && { localAddress }),
    ...(peer && { peer }),
    body: () => startOf(message),
  };
}

const bodyMost = 64 * 1024;

/** Returns the first bytes of a body; the rest is not read. */
async function startOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= bodyMost) break;
  }
  return Buffer.concat(chunks).subarray(0, bodyMost);
}

/**
 * Returns the identity of a client certificate that the client CA signed for clients and that is currently valid; `unverified` for any
 * other certificate.
 */
function peerOf(socket: Socket): ServerRequest['peer'] {
  if (!(socket instanceof TLSSocket)) return undefined;
  const shown = socket.getPeerCertificate() as { subject?: { CN?: unknown; O?: unknown } } | null;
  if (!socket.authorized) return shown && Object.keys(shown).length > 0 ? 'unverified' : undefined;
  const { subject } = shown ?? {};
  const { CN: commonName, O: organizations = [] } = subject ?? {};
  if (typeof commonName !== 'string' || commonName === '') return undefined;
  const list: readonly unknown[] = Array.isArray(organizations) ? organizations : [organizations];
  return { commonName, organizations: list.filter((one) => typeof one === 'string') };
}
