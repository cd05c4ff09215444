import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SecureVersion } from 'node:tls';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isAborted } from '../../base/abort.ts';
import { type Clock, steadyNow, systemClock } from '../../base/clock.ts';
import { Deadlines } from '../../base/deadlines.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Tracer, traced } from '../../base/tracing.ts';
import { durationMs } from '../../kube/duration.ts';
import type { MetricFamily } from '../../metrics/family.ts';
import type { KeyPair } from '../../pki/certificates.ts';
import { selfSigned } from '../../pki/self-signed.ts';
import type { Collector } from '../metrics/registry.ts';
import { type HttpHandler, HttpServer } from '../serving/http-server.ts';
import type { Client } from '../types.ts';
import { CertWatcher } from '../serving/cert-watcher.ts';
import type { ServingContext, WebhookHandler } from './handler.ts';
import { CertificateProvisioner, type CertificateProvisionerOptions } from './provisioner.ts';
import { readFile } from 'node:fs/promises';
import { RequestLife } from './request-life.ts';
import { dialed } from './started-checker.ts';
import { type MetricsOfWebhook, WebhookMetrics } from './webhook-metrics.ts';

/** Where webhooks are served. */
export interface WebhookServerOptions {
  /** Default 9443; 0 takes a free one. */
  readonly port?: number;
  /** Default: all addresses. */
  readonly host?: string;
  /** The folder of the certificate and its key, which are read again when they change. Default: a self-signed certificate. */
  readonly certDir?: string;
  /** Default `tls.crt`. */
  readonly certName?: string;
  /** Default `tls.key`. */
  readonly keyName?: string;
  /** A file in `certDir` with the authorities of clients; clients without a certificate of them are refused. */
  readonly clientCAName?: string;
  /** Default TLSv1.2. */
  readonly minVersion?: SecureVersion;
  /** Makes and renews the certificate, instead of `certDir`. */
  readonly provision?: CertificateProvisionerOptions;
}

/** What a {@link WebhookServer} works with. */
export interface WebhookServerDeps {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Traces the requests. */
  readonly tracer?: Tracer;
  /** For `provision` only. */
  readonly client?: Client;
}

/** The deadline of requests that name none, ms: the API server's longest. */
const defaultTimeoutMs = 30_000;
/** How long running requests may take at the end, ms. */
const lastMs = 2_000;
/** The longest URL whose target is kept, characters. */
const longestKept = 1_000;

interface Registered {
  readonly metrics: MetricsOfWebhook;
  readonly serve: (
    request: IncomingMessage,
    response: ServerResponse,
    life: RequestLife,
  ) => void | Promise<void>;
}

/** What all requests of a path are served with. */
type SharedContext = Omit<ServingContext, 'signal' | 'until'>;

/** The context of one request. */
class RequestContext implements ServingContext {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  readonly #life: RequestLife;

  constructor({ logger, clock, metrics }: SharedContext, life: RequestLife) {
    this.logger = logger;
    this.clock = clock;
    this.metrics = metrics;
    this.#life = life;
  }

  get signal(): AbortSignal {
    return this.#life.signal;
  }

  until<T>(work: Promise<T>): Promise<T> {
    return this.#life.until(work);
  }
}

/** WebhookServer serves webhooks by path over TLS. */
export class WebhookServer implements Collector {
  readonly #options: WebhookServerOptions;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #client: Client | undefined;
  readonly #tracer: Tracer | undefined;
  readonly #handlers = new Map<string, Registered>();
  readonly #metrics = new WebhookMetrics();
  readonly #ending = new AbortController();
  readonly #deadlines: Deadlines;
  #watcher: CertWatcher | undefined;
  #server: HttpServer | undefined;

  constructor(options: WebhookServerOptions = {}, deps: WebhookServerDeps = {}) {
    this.#options = options;
    this.#logger = deps.logger ?? silentLogger;
    this.#clock = deps.clock ?? systemClock;
    this.#deadlines = new Deadlines(this.#clock);
    this.#client = deps.client;
    this.#tracer = deps.tracer;
    if (options.provision && !deps.client)
      throw new AgentError('invalid_argument', 'webhook.provision needs a client');
  }

  /** Host and port that it listens on; undefined before it has started. */
  get address(): { readonly host: string; readonly port: number } | undefined {
    return this.#server?.address;
  }

  /** Serves a webhook or a plain handler under a path; also while the server runs. @throws when the path is taken */
  register(path: string, handler: WebhookHandler | HttpHandler): void {
    if (!path.startsWith('/'))
      throw new AgentError('invalid_argument', `path ${JSON.stringify(path)} must begin with /`);
    if (this.#handlers.has(path))
      throw new AgentError('already_exists', `cannot register duplicate path: ${path}`);
    const logger = this.#logger.with({ webhook: path });
    const shared: SharedContext = { logger, clock: this.#clock, metrics: this.#metrics };
    this.#handlers.set(path, {
      metrics: this.#metrics.add(path),
      serve: (request, response, life) =>
        typeof handler === 'function'
          ? handler(request, response)
          : handler.serve(request, response, new RequestContext(shared, life)),
    });
    logger.info('registering webhook', { path });
  }

  /** A check that passes once the server accepts TLS connections: `manager.addReadyzCheck('webhooks', server.startedChecker())`. */
  startedChecker(): () => Promise<void> {
    return async () => {
      const { address } = this;
      if (!address || isAborted(this.#ending.signal))
        throw new AgentError('unavailable', 'webhook server has not been started yet');
      await dialed(address, this.#clock);
    };
  }

  /** Serves until `signal` aborts, without a manager. */
  async start(signal: AbortSignal): Promise<void> {
    await this.listen();
    if (!isAborted(signal))
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve, { once: true });
      });
    await this.close(AbortSignal.timeout(lastMs));
  }

  /** Starts to listen. */
  async listen(): Promise<void> {
    const { port = 9443, host = '', minVersion = 'TLSv1.2' } = this.#options;
    let renew: (pair: KeyPair) => void = () => undefined;
    const pair = await this.#certificate((next) => {
      renew(next);
    });
    const tls = { minVersion, ...(await this.#clientAuthorities()) };
    const server = new HttpServer({
      name: 'webhook server',
      bindAddress: `${host}:${port}`,
      logger: this.#logger,
      tls: { ...tls, ...pair },
      handler: (request, response) => this.#serve(request, response),
    });
    renew = (next) => {
      server.renew({ ...tls, ...next });
    };
    this.#server = server;
    await server.listen();
  }

  /** Stops to listen, and waits for running requests until `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    this.#ending.abort();
    await this.#server?.close(signal);
    this.#deadlines.close();
  }

  collect(): readonly MetricFamily[] {
    return [...this.#metrics.collect(), ...(this.#watcher?.collect() ?? [])];
  }

  /** Returns the first certificate; `renewed` receives later ones. */
  async #certificate(renewed: (pair: KeyPair) => void): Promise<KeyPair> {
    const { certDir, certName = 'tls.crt', keyName = 'tls.key', provision } = this.#options;
    const deps = { clock: this.#clock, logger: this.#logger };
    const background = (work: Promise<void>): void => {
      work.catch((reason: unknown) => {
        this.#logger.error('the certificate is no longer renewed', { err: messageOf(reason) });
      });
    };
    if (provision && this.#client) {
      const provisioner = new CertificateProvisioner(provision, { ...deps, client: this.#client });
      const first = await provisioner.ensure(this.#ending.signal);
      provisioner.onChange(renewed);
      background(provisioner.start(this.#ending.signal));
      return first;
    }
    if (certDir === undefined) return selfSigned('localhost', this.#clock.now());
    const watcher = new CertWatcher(join(certDir, certName), join(certDir, keyName), deps);
    this.#watcher = watcher;
    const first = await watcher.readCertificate().catch((reason: unknown) => {
      throw new AgentError('invalid_argument', `certDir ${certDir}: ${messageOf(reason)}`, { cause: reason });
    });
    watcher.onChange(renewed);
    background(watcher.start(this.#ending.signal));
    return first;
  }

  async #clientAuthorities(): Promise<object> {
    const { certDir = '', clientCAName } = this.#options;
    if (clientCAName === undefined) return {};
    return {
      ca: await readFile(join(certDir, clientCAName), 'utf8'),
      requestCert: true,
      rejectUnauthorized: true,
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, timeout } = targetOf(request.url ?? '/');
    const handler = this.#handlers.get(path);
    if (!handler) {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
      return;
    }
    const began = steadyNow(this.#clock);
    const life = new RequestLife();
    const deadline = this.#deadlines.begin(timeout, () => {
      life.end(new AgentError('deadline_exceeded', 'the webhook did not answer within its deadline'));
    });
    response.once('close', () => {
      if (!response.writableFinished) life.end(new AgentError('cancelled', 'the client has gone'));
    });
    handler.metrics.started();
    let code = 500;
    try {
      if (this.#tracer)
        await inSpan(this.#tracer, { request, response, path }, async () => {
          await handler.serve(request, response, life);
        });
      else await handler.serve(request, response, life);
      code = response.statusCode;
    } finally {
      deadline.stop();
      handler.metrics.ended(code, steadyNow(this.#clock) - began);
    }
  }
}

/** Where a request goes, and the time that it has, ms. */
interface Target {
  readonly path: string;
  readonly timeout: number;
}

/** The targets of the last URLs: an API server calls few. */
const targets = new LRUCache<string, Target>({ max: 100 });

/** Parses the URL of a request. */
function targetOf(url: string): Target {
  const existing = targets.get(url);
  if (existing) return existing;
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const target = { path: pathname, timeout: timeoutMs(searchParams.get('timeout')) };
  if (url.length <= longestKept) targets.set(url, target);
  return target;
}

/** Serves a request in a span, which continues the trace of the caller. */
function inSpan(
  tracer: Tracer,
  { request, response, path }: { request: IncomingMessage; response: ServerResponse; path: string },
  serve: () => Promise<void>,
): Promise<void> {
  const { method = 'POST', headers } = request;
  const attributes = { 'http.request.method': method, 'http.route': path, 'url.path': path };
  return traced(
    tracer,
    `${method} ${path}`,
    { kind: 'server', parent: headers, attributes },
    async (span) => {
      await serve();
      span.set({ 'http.response.status_code': response.statusCode });
      if (response.statusCode >= 500) span.end(`status ${response.statusCode}`);
    },
  );
}

/** Returns the deadline that the API server names, such as `10s`, ms. */
function timeoutMs(text: string | null): number {
  if (text === null) return defaultTimeoutMs;
  const ms = durationMs(text);
  return ms > 0 && ms < defaultTimeoutMs ? ms : defaultTimeoutMs;
}
