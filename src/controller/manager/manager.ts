import { hostname } from 'node:os';
import type { ApiClient } from '../../api/client.ts';
import { EventBroadcaster } from '../../api/events/event-recorder.ts';
import { intercept } from '../../api/interceptor.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { newCache } from '../cache/new-cache.ts';
import { apiClientOf } from '../client/client.ts';
import { newClient } from '../client/new-client.ts';
import { ClientMetrics } from '../metrics/client-metrics.ts';
import { ControllerMetrics, type MetricsOfController } from '../metrics/controller-metrics.ts';
import { processMetrics } from '../metrics/process-metrics.ts';
import { MetricsRegistry } from '../metrics/registry.ts';
import type { Runnable } from '../runnable.ts';
import type { Cache, Client, Kind, KubeObject, Reader } from '../types.ts';
import { WebhookServer } from '../webhook/server.ts';
import { DeferredTracer, registeredTracer } from './deferred-tracer.ts';
import type { HealthCheck } from './health.ts';
import { Lifecycle } from './lifecycle.ts';
import type { MetricsHandler } from './metrics-server.ts';
import type { ControllerDefaults, ManagerOptions } from './options.ts';

/** Adds indexes to a cache. */
export interface FieldIndexer {
  /** Adds an index by which `list` with `fields` finds objects. Call it before the manager starts. */
  indexField<T extends KubeObject>(
    kind: Kind<T>,
    field: string,
    extract: (object: T) => readonly string[],
  ): Promise<void>;
}

/** What a controller of a manager works with. */
export interface ControllerHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly defaults: ControllerDefaults;
  readonly tracer: () => Tracer | undefined;
  /** Reserves a controller's name and returns its metrics. @throws when the name is taken */
  readonly register: (
    name: string,
    options: {
      readonly workers: number;
      readonly usePriority: boolean;
      readonly skipNameValidation: boolean;
    },
  ) => MetricsOfController;
}

/**
 * Manager runs controllers with what they share: a cache, a client, leader election, health checks, metrics and webhooks.
 *
 * @example
 * const manager = new Manager({ connection: await loadConnection() });
 * controllerManagedBy(manager).for(kinds.ReplicaSet).owns(kinds.Pod).complete(reconcile);
 * await manager.start(setupSignalHandler());
 */
export class Manager {
  /** Reads from the cache, unless the options say otherwise, and writes to the API server. */
  readonly client: Client;
  /** Reads from the API server. */
  readonly apiReader: Reader;
  readonly cache: Cache;
  readonly fieldIndexer: FieldIndexer;
  /** What `/metrics` serves; add collectors of your own. */
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  readonly logger: Logger;
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tracer: Tracer | undefined;
  readonly #api: ApiClient;
  readonly #recorders = new Map<string, EventBroadcaster>();
  readonly #names = new Set<string>();
  readonly #controllerMetrics = new ControllerMetrics();
  readonly #lifecycle: Lifecycle;
  #webhookServer: WebhookServer | undefined;

  constructor(options: ManagerOptions) {
    checkConnection(options.connection);
    const { connection, clock = systemClock, random = systemRandom, logger = silentLogger } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.logger = logger;
    this.#tracer = options.tracer ?? registeredTracer();
    const tracing = this.#tracer && { tracer: this.#tracer };
    const requests = new ClientMetrics('server' in connection ? connection.server : '');
    const owned = apiClientOf(connection, { clock, random, logger, observer: requests, ...tracing });
    const api = 'server' in connection ? owned.api : intercept(owned.api, requests.interceptor);
    this.#api = api;
    const { cache: reads, ...defaults } = options.client ?? {};
    const deps = { clock, random, logger };
    this.cache = newCache(api, { ...deps, ...options.cache });
    const client = newClient(api, { ...deps, ...defaults, cache: { reader: this.cache, ...reads } });
    this.client = client;
    this.apiReader = newClient(api, deps);
    this.metrics.register(this.#controllerMetrics, requests, processMetrics, {
      collect: () => client.families(),
    });
    this.fieldIndexer = this.cache;
    this.#lifecycle = new Lifecycle({
      options,
      clock,
      random,
      logger,
      ...{ api, cache: this.cache, metrics: this.metrics },
      namespace: ('server' in connection ? connection.namespace : undefined) ?? '',
      recorders: () => [...this.#recorders.values()],
      load: async () => {
        if (this.#tracer instanceof DeferredTracer) await this.#tracer.load();
      },
      close: () => owned.close(),
    });
  }

  /** Resolves when this process leads, or starts to work without leader election. */
  get elected(): Promise<void> {
    return this.#lifecycle.elected;
  }

  /** Serves webhooks. The first use adds it to what the manager starts. */
  get webhookServer(): WebhookServer {
    if (!this.#webhookServer) {
      const server = new WebhookServer(this.#options.webhook ?? {}, {
        logger: this.logger,
        clock: this.#clock,
        ...(this.#tracer && { tracer: this.#tracer }),
        client: newClient(this.#api, { clock: this.#clock, random: this.#random, logger: this.logger }),
      });
      this.#webhookServer = server;
      this.metrics.register(server);
      this.#lifecycle.addServer('webhooks', server, 'webhook server');
    }
    return this.#webhookServer;
  }

  /** Where metrics are served; undefined before the start, and without metrics. */
  get metricsAddress(): { readonly host: string; readonly port: number } | undefined {
    return this.#lifecycle.metricsAddress;
  }

  /** Where `/healthz` and `/readyz` are served; undefined before the start, and without them. */
  get healthProbeAddress(): { readonly host: string; readonly port: number } | undefined {
    return this.#lifecycle.healthAddress;
  }

  /** What controllers of this manager work with. */
  get host(): ControllerHost {
    return {
      clock: this.#clock,
      random: this.#random,
      logger: this.logger,
      defaults: this.#options.controller ?? {},
      tracer: () => this.#tracer,
      register: (name, { workers, usePriority, skipNameValidation }) => {
        if (this.#names.has(name) && !skipNameValidation)
          throw new AgentError(
            'already_exists',
            `controller with name ${name} already exists. Controller names must be unique to avoid multiple controllers reporting the same metric. This validation can be disabled via the skipNameValidation option`,
          );
        this.#names.add(name);
        return this.#controllerMetrics.forController(name, workers, usePriority);
      },
    };
  }

  /** Returns a recorder of Events with this reporting component. They are written in the background. */
  eventRecorderFor(component: string): EventRecorder {
    const found = this.#recorders.get(component);
    if (found) return found;
    const recorder = new EventBroadcaster(
      { client: this.#api, clock: this.#clock, random: this.#random, logger: this.logger },
      { component, host: hostname(), api: 'v1' },
    );
    this.#recorders.set(component, recorder);
    return recorder;
  }

  /** Adds a part that starts with the manager, or at once when that runs. @throws when the manager is stopping */
  add(runnable: Runnable): void {
    this.#lifecycle.add(runnable);
  }

  /** Adds a check to `/healthz`. @throws when the manager has started */
  addHealthzCheck(name: string, check: HealthCheck): void {
    this.#lifecycle.addCheck('healthz', name, check);
  }

  /** Adds a check to `/readyz`. @throws when the manager has started */
  addReadyzCheck(name: string, check: HealthCheck): void {
    this.#lifecycle.addCheck('readyz', name, check);
  }

  /** Adds a path to the metrics server. @throws when the path is taken or the manager has started */
  addMetricsHandler(path: string, handler: MetricsHandler): void {
    this.#lifecycle.addMetricsHandler(path, handler);
  }

  /**
   * Starts servers and webhooks, then caches, then the rest, then what needs leadership; resolves when `signal` has aborted and all have
   * stopped. May be called once.
   *
   * @throws the first failure, after all have stopped
   */
  start(signal: AbortSignal): Promise<void> {
    return this.#lifecycle.run(signal);
  }
}

function checkConnection(connection: unknown): void {
  if (typeof connection !== 'object' || connection === null)
    throw new AgentError('invalid_argument', 'connection: an ApiConnection or an ApiClient is required');
}
