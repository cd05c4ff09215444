import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Logger } from '../../base/logger.ts';
import { contentType, metricsText, takesGzip } from '../../metrics/metrics.ts';
import { openMetricsText, openMetricsType, wantsOpenMetrics } from '../../metrics/open-metrics.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import type { AccessFilter } from './access.ts';
import { certificate } from '../serving/certificate.ts';
import { HttpServer } from '../serving/http-server.ts';

/** Where metrics are served. */
export interface MetricsOptions {
  /** `host:port`; `0` turns it off. */
  readonly bindAddress: string;
  /** Serves TLS. */
  readonly secureServing?: boolean;
  /** The folder of `tls.crt` and `tls.key`. Default: a self-signed certificate. */
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
  readonly now: number;
  readonly access?: AccessFilter;
  /** Handlers by path. */
  readonly handlers: ReadonlyMap<string, MetricsHandler>;
}

/** Returns the server of `/metrics` and of further paths. @throws when the certificate cannot be read */
export async function metricsServer(parts: MetricsServerParts): Promise<HttpServer> {
  const { options, logger } = parts;
  const tls = options.secureServing ? await certificate(options.certDir, parts.now) : undefined;
  return new HttpServer({
    name: 'metrics server',
    bindAddress: options.bindAddress,
    logger,
    handler: (request, response) => serve(parts, request, response),
    ...(tls && { tls }),
  });
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
