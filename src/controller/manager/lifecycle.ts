import { hostname } from 'node:os';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiClient } from '../../api/client.ts';
import type { EventBroadcaster } from '../../api/events/event-recorder.ts';
import { isAborted, untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { type Election, LeaderElector } from '../../api/leaderelection/leader-elector.ts';
import { LeaderMetrics } from '../metrics/leader-metrics.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import type { Runnable } from '../runnable.ts';
import { HttpServer, isOff, parseBindAddress } from '../serving/http-server.ts';
import type { Cache } from '../types.ts';
import { AccessFilter } from './access.ts';
import { type HealthCheck, HealthHandler } from './health.ts';
import { type MetricsHandler, MetricsServer } from './metrics-server.ts';
import type { ManagerOptions } from './options.ts';
import { Runnables, type Stage } from './runnables.ts';

/** What a {@link Lifecycle} works with. */
export interface LifecycleParts {
  readonly options: ManagerOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly api: ApiClient;
  readonly cache: Cache;
  readonly metrics: MetricsRegistry;
  /** The namespace of the connection; `''` when it has none. */
  readonly namespace: string;
  readonly recorders: () => readonly EventBroadcaster[];
  /** Loads what the start waits for. */
  readonly load: () => Promise<void>;
  /** Closes the connections. */
  readonly close: () => Promise<void>;
}

/** A server as a stage runs it. */
export interface Serving {
  listen(): Promise<void>;
  close(signal: AbortSignal): Promise<void>;
}

/** How long a stop waits by default, ms. */
const defaultGraceMs = 30_000;
/** How long Events may take at the end, and the running requests of servers, ms. */
const lastMs = 2_000;
/** A time that never comes, ms: it keeps the process alive. */
const foreverMs = 2 ** 31;

/** Lifecycle starts the parts of a manager in order, and stops them in reverse. */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #runnables: Runnables;
  readonly #health = { healthz: new HealthHandler('healthz'), readyz: new HealthHandler('readyz') };
  readonly #metricsHandlers = new Map<string, MetricsHandler>();
  readonly #elected = Promise.withResolvers<undefined>();
  /** Rejects with the first failure of a part. */
  readonly #failed = Promise.withResolvers<never>();
  readonly #elector: LeaderElector | undefined;
  readonly #releaseOnCancel: boolean;
  /** Aborts when nothing may be started any more. */
  readonly #stopping = new AbortController();
  #state: 'new' | 'running' | 'stopping' = 'new';
  #metricsServer: MetricsServer | undefined;
  #healthServer: HttpServer | undefined;
  #lostLeadership = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#runnables = new Runnables((reason, name) => {
      if (this.#state === 'stopping') {
        parts.logger.error('error received after stop sequence was engaged', {
          part: name,
          err: messageOf(reason),
        });
        return;
      }
      this.#failed.reject(reason);
    });
    this.#failed.promise.catch(() => undefined);
    const { leaderElection, healthProbeBindAddress, metrics } = parts.options;
    if (!isOff(healthProbeBindAddress))
      parseBindAddress(healthProbeBindAddress ?? '', 'healthProbeBindAddress');
    if (metrics && !isOff(metrics.bindAddress)) parseBindAddress(metrics.bindAddress, 'metrics.bindAddress');
    this.#releaseOnCancel = leaderElection?.releaseOnCancel ?? false;
    this.#elector = leaderElection && this.#makeElector(leaderElection);
    this.#runnables.add('caches', {
      name: 'cache',
      run: (signal) => parts.cache.start(signal),
      ready: async (signal) => {
        await parts.cache.waitForCacheSync(signal);
      },
    });
  }

  get elected(): Promise<void> {
    return this.#elected.promise;
  }

  get metricsAddress(): HttpServer['address'] {
    return this.#metricsServer?.address;
  }

  get healthAddress(): HttpServer['address'] {
    return this.#healthServer?.address;
  }

  add(runnable: Runnable): void {
    const { name = 'runnable' } = runnable as { readonly name?: string };
    if (this.#state === 'stopping' || !this.#runnables.addRunnable(runnable, name))
      throw new AgentError(
        'failed_precondition',
        "can't accept new runnable as stop procedure is already engaged",
      );
  }

  addServer(stage: Stage, server: Serving, name: string): void {
    const listening = Promise.withResolvers<undefined>();
    listening.promise.catch(() => undefined);
    this.#runnables.add(stage, {
      name,
      run: async (signal) => {
        try {
          await server.listen();
          listening.resolve(undefined);
        } catch (reason) {
          listening.reject(reason);
          return; // the start fails with it
        }
        await aborted(signal);
        const late = AbortSignal.timeout(lastMs);
        await server.close(late);
      },
      ready: () => listening.promise,
    });
  }

  addCheck(endpoint: 'healthz' | 'readyz', name: string, check: HealthCheck): void {
    this.#mustBeNew(`unable to add new checker because ${endpoint} endpoint has already been created`);
    this.#health[endpoint].add(name, check);
  }

  addMetricsHandler(path: string, handler: MetricsHandler): void {
    this.#mustBeNew('unable to add new metrics handler because metrics endpoint has already been created');
    if (path === '/metrics')
      throw new AgentError('invalid_argument', 'overriding builtin /metrics endpoint is not allowed');
    if (this.#metricsHandlers.has(path))
      throw new AgentError('already_exists', `can't register extra handler by duplicate path ${path}`);
    this.#metricsHandlers.set(path, handler);
  }

  /** Starts all parts and runs until `signal` aborts or one fails. */
  async run(signal: AbortSignal): Promise<void> {
    this.#mustBeNew('manager already started');
    this.#state = 'running';
    const alive = new AbortController();
    // open sockets are not all that keeps a process alive: a controller may wait for a time alone
    void this.#parts.clock.sleep(foreverMs, alive.signal).catch(() => undefined);
    const failures: unknown[] = [];
    const stop = new AbortController();
    let leading: Promise<void> | undefined;
    try {
      await untilAborted(Promise.race([this.#start(), this.#failed.promise]), signal);
      leading = this.#lead(stop.signal);
      await untilAborted(this.#failed.promise, signal);
    } catch (reason) {
      if (!isAborted(signal) || reason !== signal.reason) failures.push(reason);
    }
    await this.#stop().catch((reason: unknown) => failures.push(reason));
    stop.abort();
    await leading;
    await this.#finish();
    alive.abort();
    if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join('; '));
    if (failures.length === 1) throw failures[0] as Error;
  }

  async #start(): Promise<void> {
    await this.#parts.load();
    await this.#addServers();
    const stages = ['httpServers', 'webhooks', 'caches', 'others', 'warmup'] as const;
    for (const stage of stages) {
      if (isAborted(this.#stopping.signal)) return;
      await this.#runnables.start(stage);
    }
  }

  async #addServers(): Promise<void> {
    const { options, logger, metrics, api, clock } = this.#parts;
    const { metrics: served, healthProbeBindAddress } = options;
    if (served && !isOff(served.bindAddress)) {
      this.#metricsServer = await MetricsServer.create({
        options: served,
        registry: metrics,
        logger,
        clock,
        handlers: this.#metricsHandlers,
        ...(served.authentication && { access: new AccessFilter(api, clock) }),
      });
      this.addServer('httpServers', this.#metricsServer, 'metrics server');
    }
    if (isOff(healthProbeBindAddress)) return;
    this.#healthServer = new HttpServer({
      name: 'health probe',
      bindAddress: healthProbeBindAddress ?? '',
      logger,
      handler: (request, response) => this.#serveHealth(request, response),
    });
    this.addServer('httpServers', this.#healthServer, 'health probe');
  }

  async #serveHealth(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, endpoint = '', rest = ''] = /^\/(healthz|readyz)(\/.*)?$/.exec(pathname) ?? [];
    if (endpoint === 'healthz' || endpoint === 'readyz')
      await this.#health[endpoint].serve(rest, request, response);
    else response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
  }

  /** Runs what needs leadership, and renews the lease until `signal` aborts. */
  async #lead(signal: AbortSignal): Promise<void> {
    const elector = this.#elector;
    try {
      if (elector) await elector.acquire(AbortSignal.any([signal, this.#stopping.signal]));
      if (isAborted(this.#stopping.signal)) return;
      void this.#runnables.start('leaderElection').catch((reason: unknown) => {
        this.#failed.reject(reason);
      });
      this.#elected.resolve(undefined);
      await elector?.hold(signal);
      if (this.#releaseOnCancel) await elector?.release();
    } catch (reason) {
      if (isAborted(signal) || isAborted(this.#stopping.signal)) return;
      // another process may lead already: nothing is waited for
      this.#lostLeadership = true;
      this.#runnables.abort('leaderElection', reason);
      this.#failed.reject(reason);
    }
  }

  /** Stops all parts. @throws when they have not ended in time */
  async #stop(): Promise<void> {
    const { logger, options, clock } = this.#parts;
    const { gracefulShutdownTimeout: grace = defaultGraceMs } = options;
    this.#state = 'stopping';
    this.#stopping.abort();
    const stopped = this.#runnables.stop((stage) => {
      logger.info('stopping and waiting', { stage });
    });
    if (this.#lostLeadership || grace === 0) {
      this.#runnables.abortAll();
      return;
    }
    if (grace < 0) {
      await stopped;
      return;
    }
    const late = Promise.withResolvers<'late'>();
    const stopTimer = clock.timer(grace, () => {
      late.resolve('late');
    });
    const result = await Promise.race([stopped, late.promise]);
    stopTimer();
    if (result !== 'late') return;
    this.#runnables.abortAll();
    throw new AgentError(
      'deadline_exceeded',
      `failed waiting for all runnables to end within grace period of ${grace} ms`,
    );
  }

  /** Writes the Events that wait and closes the connections. */
  async #finish(): Promise<void> {
    const { recorders, clock, close } = this.#parts;
    const late = new AbortController();
    const stopTimer = clock.timer(lastMs, () => {
      late.abort();
    });
    for (const recorder of recorders()) {
      await untilAborted(recorder.flush(), late.signal).catch(() => undefined);
      recorder.stop();
    }
    stopTimer();
    await close();
  }

  #mustBeNew(message: string): void {
    if (this.#state !== 'new') throw new AgentError('failed_precondition', message);
  }

  #makeElector(options: NonNullable<ManagerOptions['leaderElection']>): LeaderElector {
    const { api, clock, random, logger, metrics, namespace } = this.#parts;
    const election: Election = {
      namespace,
      leaseDuration: 15_000,
      renewDeadline: 10_000,
      retryPeriod: 2_000,
      releaseOnCancel: false,
      identity: `${hostname()}_${random.uuid()}`,
      ...options,
    };
    const shown = new LeaderMetrics(election.id);
    metrics.register(shown);
    return new LeaderElector(
      {
        ...{ client: api, clock, random, logger },
        onLeading: (leading) => {
          shown.setLeading(leading);
        },
        onSlowPath: () => {
          shown.slowPath();
        },
      },
      election,
    );
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
  });
