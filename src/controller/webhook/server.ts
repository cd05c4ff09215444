import type { Logger } from '../../base/logger.ts';
import { AgentError } from '../../base/errors.ts';
import { certificate } from '../serving/certificate.ts';
import { type HttpHandler, HttpServer } from '../serving/http-server.ts';

/** Where webhooks are served. */
export interface WebhookServerOptions {
  /** Default 9443; 0 takes a free one. */
  readonly port?: number;
  /** Default: all addresses. */
  readonly host?: string;
  /** The folder of `tls.crt` and `tls.key`. Default: a self-signed certificate. */
  readonly certDir?: string;
}

/** What a {@link WebhookServer} works with. */
export interface WebhookServerDeps {
  readonly logger: Logger;
  /** ms since the epoch */
  readonly now: () => number;
}

/** WebhookServer serves webhooks by path over TLS. */
export class WebhookServer {
  readonly #options: WebhookServerOptions;
  readonly #deps: WebhookServerDeps;
  readonly #handlers = new Map<string, HttpHandler>();
  #server: HttpServer | undefined;

  constructor(options: WebhookServerOptions, deps: WebhookServerDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Host and port that it listens on; undefined before the manager has started. */
  get address(): { readonly host: string; readonly port: number } | undefined {
    return this.#server?.address;
  }

  /** Serves a handler under a path. @throws when the path is taken */
  register(path: string, handler: HttpHandler): void {
    if (this.#handlers.has(path))
      throw new AgentError('already_exists', `cannot register duplicate path: ${path}`);
    this.#handlers.set(path, handler);
  }

  /** Starts to listen. */
  async listen(): Promise<void> {
    const { port = 9443, host = '', certDir } = this.#options;
    this.#server = new HttpServer({
      name: 'webhook server',
      bindAddress: `${host}:${port}`,
      logger: this.#deps.logger,
      tls: await certificate(certDir, this.#deps.now()),
      handler: async (request, response) => {
        const { pathname } = new URL(request.url ?? '/', 'https://localhost');
        const handler = this.#handlers.get(pathname);
        if (handler) await handler(request, response);
        else
          response
            .writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' })
            .end('404 page not found\n');
      },
    });
    await this.#server.listen();
  }

  /** Stops to listen, and waits for running requests until `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    await this.#server?.close(signal);
  }
}
