import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

/** Answers a request; a rejection is answered with status 500. */
export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** What an {@link HttpServer} serves. */
export interface HttpServerOptions {
  /** Names the server in errors and logs. */
  readonly name: string;
  /** `host:port`, or `:port` for all addresses; port 0 takes a free one. */
  readonly bindAddress: string;
  readonly handler: HttpHandler;
  readonly logger: Logger;
  /** Serves TLS. */
  readonly tls?: ServerOptions;
}

/** Limits of a connection, ms: a client that sends slowly is cut. */
const limits = { headersTimeout: 32_000, requestTimeout: 60_000, keepAliveTimeout: 90_000 };

/** Returns host and port of a bind address. @throws {AgentError} `invalid_argument` */
export function parseBindAddress(
  text: string,
  name: string,
): { readonly host?: string; readonly port: number } {
  const found = /^(.*):(\d+)$/.exec(text);
  const port = Number(found?.[2] ?? NaN);
  if (!found || !(port <= 65_535))
    throw new AgentError(
      'invalid_argument',
      `${name}: "${text}" is no bind address; use host:port, :port, or 0 for none`,
    );
  const host = (found[1] ?? '').replace(/^\[(.*)\]$/, '$1');
  return { ...(host !== '' && { host }), port };
}

/** True for a bind address that turns a server off. */
export const isOff = (bindAddress: string | undefined): boolean =>
  bindAddress === undefined || bindAddress === '' || bindAddress === '0';

/** The failure of a connection shows where its request is read. */
const ignore = (): void => undefined;

/** HttpServer serves one handler on one address. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#serve(request, response);
    };
    this.#server = options.tls
      ? createTlsServer({ minVersion: 'TLSv1.2', ...options.tls }, listener)
      : createServer(listener);
    Object.assign(this.#server, limits);
  }

  /** Host and port that it listens on; undefined before. */
  get address(): { readonly host: string; readonly port: number } | undefined {
    const address = this.#server.address() as AddressInfo | null;
    return address ? { host: address.address, port: address.port } : undefined;
  }

  /** Starts to listen. @throws when the address is in use */
  async listen(): Promise<void> {
    const { name, bindAddress, logger } = this.#options;
    const { host, port } = parseBindAddress(bindAddress, name);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, ...(host !== undefined && { host }) }, resolve);
    }).catch((reason: unknown) => {
      throw new AgentError('unavailable', `${name}: cannot listen on ${bindAddress}: ${messageOf(reason)}`, {
        cause: reason,
      });
    });
    logger.info('serving', { server: name, ...this.address });
  }

  /** Replaces the certificate for new connections. */
  renew(tls: ServerOptions): void {
    if ('setSecureContext' in this.#server)
      (this.#server as ReturnType<typeof createTlsServer>).setSecureContext({
        minVersion: 'TLSv1.2',
        ...tls,
      });
  }

  /** Stops to listen, and waits for running requests until `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#server.closeIdleConnections();
    const cut = (): void => {
      this.#server.closeAllConnections();
    };
    if (signal.aborted) cut();
    signal.addEventListener('abort', cut, { once: true });
    await closed;
    signal.removeEventListener('abort', cut);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', ignore);
    response.on('error', ignore);
    try {
      await this.#options.handler(request, response);
    } catch (reason) {
      const { logger, name } = this.#options;
      logger.error('request failed', { server: name, path: request.url, err: messageOf(reason) });
      if (response.headersSent) response.destroy();
      else
        response
          .writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' })
          .end('internal server error\n');
    }
  }
}
