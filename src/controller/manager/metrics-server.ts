import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { contentType, metricsText, takesGzip } from '../../metrics/metrics.ts';
import { openMetricsText, openMetricsType, wantsOpenMetrics } from '../../metrics/open-metrics.ts';
import { selfSigned } from '../../pki/self-signed.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import type { AccessFilter } from './access.ts';
import { CertWatcher } from '../serving/cert-watcher.ts';
import { HttpServer } from '../serving/http-server.ts';

/** Where metrics are served. */
export interface MetricsOptions {
  /** `host:port`; `0` turns it off. */
  readonly bindAddress: string;
  /** Serves TLS. */
  readonly secureServing?: boolean;
  /** The folder of `tls.crt` and `tls.key`, which are read again when they change. Default: a self-signed certificate. */
  readonly certDir?: string;
  /** Lets only clients pass that the API server knows and permits to get the path (TokenReview, SubjectAccessReview). */
  readonly authentication?: boolean;
}

/** A handler that users add to the metrics server. */
export type MetricsHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** What a {@link MetricsServer} works with. */
export interface MetricsServerParts {
  readonly options: MetricsOptions;
  readonly registry: MetricsRegistry;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly access?: AccessFilter;
  /** Handlers by path. */
  readonly handlers: ReadonlyMap<string, MetricsHandler>;
}

/** MetricsServer serves `/metrics` and further paths. A certificate in files is read again when it changes. */
export class MetricsServer {
  readonly #http: HttpServer;
  readonly #watcher: CertWatcher | undefined;
  readonly #logger: Logger;
  readonly #ending = new AbortController();

  private constructor(parts: MetricsServerParts, watcher: CertWatcher | undefined) {
    const { options, logger, registry, clock } = parts;
    this.#logger = logger;
    this.#watcher = watcher;
    const tls = watcher?.certificate ?? (options.secureServing && selfSigned('localhost', clock.now()));
    const http = new HttpServer({
      name: 'metrics server',
      bindAddress: options.bindAddress,
      logger,
      handler: (request, response) => serve(parts, request, response),
      ...(tls && { tls }),
    });
    this.#http = http;
    if (!watcher) return;
    registry.register(watcher);
    watcher.onChange((pair) => {
      http.renew(pair);
    });
  }

  /** @throws {AgentError} `invalid_argument` when the certificate cannot be read */
  static async create(parts: MetricsServerParts): Promise<MetricsServer> {
    const { options, clock, logger } = parts;
    const { certDir, secureServing = false } = options;
    if (!secureServing || certDir === undefined) return new MetricsServer(parts, undefined);
    const watcher = new CertWatcher(join(certDir, 'tls.crt'), join(certDir, 'tls.key'), { clock, logger });
    await watcher.readCertificate().catch((reason: unknown) => {
      throw new AgentError(
        'invalid_argument',
        `certDir ${certDir}: tls.crt and tls.key are required: ${messageOf(reason)}`,
        { cause: reason },
      );
    });
    return new MetricsServer(parts, watcher);
  }

  get address(): HttpServer['address'] {
    return this.#http.address;
  }

  async listen(): Promise<void> {
    await this.#http.listen();
    this.#watcher?.start(this.#ending.signal).catch((reason: unknown) => {
      this.#logger.error('the certificate is no longer renewed', { err: messageOf(reason) });
    });
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#ending.abort();
    await this.#http.close(signal);
  }
}

async function serve(
  { access, registry, handlers }: MetricsServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const verdict = access ? await access.check(request) : { status: 200 as const };
  if (verdict.status !== 200) {
    response.writeHead(verdict.status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(verdict.text);
    return;
  }
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const handler = handlers.get(pathname);
  if (handler) handler(request, response);
  else if (pathname === '/metrics') serveMetrics(registry, request, response);
  else response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
}

function serveMetrics(registry: MetricsRegistry, request: IncomingMessage, response: ServerResponse): void {
  const open = wantsOpenMetrics(request.headers.accept);
  const families = registry.collect();
  const text = open ? openMetricsText(families) : metricsText(families);
  const zipped = takesGzip(request.headers['accept-encoding']);
  response.writeHead(200, {
    'Content-Type': open ? openMetricsType : contentType,
    ...(zipped && { 'Content-Encoding': 'gzip' }),
  });
  response.end(zipped ? gzipSync(text) : text);
}
