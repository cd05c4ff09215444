import { isAborted, untilAborted } from '../../base/abort.ts';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { Latch } from '../../base/latch.ts';
import type { LogFields, Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { type Tracer, traced } from '../../base/tracing.ts';
import type { MetricsOfController } from '../metrics/controller-metrics.ts';
import { PriorityQueue, type Taken } from '../queue/priority-queue.ts';
import { defaultControllerRateLimiter, type RateLimiter } from '../queue/rate-limiter.ts';
import {
  type Cause,
  isTerminalError,
  type Reconciler,
  type ReconcileContext,
  type Result,
} from '../reconcile.ts';
import type { Runnable } from '../runnable.ts';
import type { Source, SourceQueue } from '../source/source.ts';
import type { Request } from '../types.ts';
import { type Attempt, attempt, type AttemptParts, PanicError } from './attempt.ts';

/** How a controller runs. Durations are ms. */
export interface ControllerOptions {
  /** Reconciles at once. Default 1. */
  readonly maxConcurrentReconciles?: number;
  /** Delays retries. Default: 5 ms × 2ⁿ up to 1,000 s by request, and 10 per second, 100 at once, for all of them. */
  readonly rateLimiter?: RateLimiter;
  /** Treats a programming error in the reconciler as an error to retry; `false` stops the manager. Default true. */
  readonly recoverPanic?: boolean;
  /** Whether the controller runs only while this process leads. Default true. */
  readonly needLeaderElection?: boolean;
  /** Aborts the signal of a reconcile after this time. Default: no limit. */
  readonly reconciliationTimeout?: number;
  /** The longest wait for the first lists of the sources. Default 2 min. */
  readonly cacheSyncTimeout?: number;
  /** Starts the sources before this process leads, so that it takes over sooner. Default false. */
  readonly enableWarmup?: boolean;
  /** `false` takes requests in the order of their arrival, whatever their priority. Default true. */
  readonly usePriorityQueue?: boolean;
  /** Permits a name that another controller of the manager has; their metrics add up. */
  readonly skipNameValidation?: boolean;
  readonly logger?: Logger;
  /** The clock of the queue, of retries and of the time-outs. Default: the manager's. */
  readonly clock?: Clock;
}

/** What one step of a driven controller did. */
export interface Step {
  /** The name of the controller. */
  readonly controller: string;
  readonly request: Request;
  readonly priority: number;
  readonly causes: readonly Cause[];
  /** What the reconciler returned; absent when it failed. */
  readonly result?: Result;
  /** What the reconciler threw. */
  readonly error?: unknown;
}

/** What a controller works with. */
export interface ControllerParts {
  readonly name: string;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsOfController;
  /** Returns the tracer once the manager has started. */
  readonly tracer?: () => Tracer | undefined;
  readonly options: ControllerOptions;
  /** Fields of the log lines besides `controller`. */
  readonly fields?: LogFields;
}

/** The longest wait for the sources' first lists by default, ms. */
const defaultCacheSyncTimeoutMs = 120_000;

/**
 * Controller takes requests from its queue and reconciles them: each request at most once at a time.
 *
 * After controller-runtime's `internal/controller`.
 *
 * @example
 * const controller = newController('pods', manager, { reconciler });
 * controller.watch(kindSource(manager.cache, kinds.Pod, enqueueRequestForObject()));
 */
export class Controller implements Runnable {
  readonly name: string;
  readonly needLeaderElection: boolean;
  readonly queue: PriorityQueue;
  readonly #parts: ControllerParts;
  readonly #options: ControllerOptions;
  readonly #logger: Logger;
  readonly #attempts: AttemptParts;
  readonly #sources: Source[] = [];
  /** Opens when the sources have shown their first lists. */
  #sourcesStarted: Promise<void> | undefined;
  #sourceSignal: AbortSignal | undefined;
  readonly #startedSources: Source[] = [];
  readonly #synced = new Latch();
  #running = false;
  #driven = false;

  constructor(parts: ControllerParts) {
    const { name, options, clock, metrics } = parts;
    this.name = name;
    this.#parts = parts;
    this.#options = options;
    this.#logger = (options.logger ?? parts.logger).with({ controller: name, ...parts.fields });
    this.#attempts = {
      ...{ clock, metrics, random: parts.random, reconciler: parts.reconciler, logger: this.#logger },
      recoverPanic: options.recoverPanic ?? true,
      timeoutMs: options.reconciliationTimeout ?? 0,
    };
    this.needLeaderElection = options.needLeaderElection ?? true;
    this.queue = new PriorityQueue({
      clock,
      rateLimiter: options.rateLimiter ?? defaultControllerRateLimiter(clock),
      metrics: metrics.queue,
      usePriority: options.usePriorityQueue ?? true,
    });
    metrics.running(() => this.queue.runningMs());
  }

  /** The logger of the controller; reconciles have loggers of their own. */
  get logger(): Logger {
    return this.#logger;
  }

  /** Adds a source; it starts with the controller, or at once when that runs. */
  async watch(source: Source): Promise<void> {
    const signal = this.#sourceSignal;
    if (!signal) {
      this.#sources.push(source);
      return;
    }
    await this.#startSource(source, signal);
  }

  /** Reconciles one request, outside of the queue. */
  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const { outcome } = await this.#attempt(
      { request, priority: 0, causes: [], trace: undefined, waitedMs: 0, takenAt: 0 },
      signal,
    );
    if ('error' in outcome) throw outcome.error as Error;
    return outcome.result;
  }

  /** Has the controller reconcile only by {@link step}. Call it before the start. For tests: see `ControllerDriver`. */
  drive(): void {
    if (this.#running)
      throw new AgentError(
        'failed_precondition',
        `controller ${this.name} runs: it can be driven from its start only`,
      );
    this.#driven = true;
  }

  /** Reconciles the next request that is due and returns how that ended; undefined when none is due. */
  async step(signal: AbortSignal): Promise<Step | undefined> {
    const item = this.queue.length === 0 ? undefined : await this.queue.take();
    if (!item) return undefined;
    const { request, priority, causes } = item;
    try {
      const { outcome } = await this.#process(item, signal);
      return { controller: this.name, request, priority, causes, ...outcome };
    } finally {
      this.queue.done(request);
    }
  }

  /** Resolves when the sources have shown their first lists; rejects when `signal` aborts first. */
  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#synced.wait(signal);
  }

  /** Resolves when the event handlers have finished with every event so far. */
  async waitForHandlers(signal: AbortSignal): Promise<void> {
    for (const source of this.#startedSources) await source.idle?.(signal);
  }

  /** Starts the sources if the controller has `enableWarmup`. */
  async warmup(signal: AbortSignal): Promise<void> {
    if (this.#options.enableWarmup) await this.#startSources(signal);
  }

  /**
   * Starts the sources, waits for their first lists and works until `signal` aborts; then waits for the running reconciles.
   *
   * @throws when a source cannot start or does not show its first list in time, or a reconcile panics that is not to be recovered
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#running)
      throw new AgentError(
        'failed_precondition',
        `controller ${this.name} was started more than once. It may have been added to a manager twice`,
      );
    this.#running = true;
    await this.#startSources(signal);
    if (isAborted(signal)) {
      this.queue.shutDown();
      return;
    }
    this.#synced.open();
    if (this.#driven) await untilShutDown(signal);
    else await this.#runWorkers(signal);
  }

  async #runWorkers(signal: AbortSignal): Promise<void> {
    const workers = this.#options.maxConcurrentReconciles ?? 1;
    this.#logger.info('starting workers', { workerCount: workers });
    const stop = new AbortController();
    const work = AbortSignal.any([signal, stop.signal]);
    work.addEventListener('abort', () => {
      this.queue.shutDown();
    });
    const loops = Array.from({ length: workers }, () =>
      this.#work(work).catch((reason: unknown) => {
        // a panic ends the other workers, too
        stop.abort(reason);
        throw reason;
      }),
    );
    const results = await Promise.allSettled(loops);
    this.#logger.info('all workers finished');
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  #startSources(signal: AbortSignal): Promise<void> {
    if (this.#sourcesStarted) return untilAborted(this.#sourcesStarted, signal).catch(ignoreAbort(signal));
    this.#sourceSignal = signal;
    const sources = this.#sources.splice(0);
    signal.addEventListener('abort', () => {
      this.queue.shutDown();
    });
    this.#sourcesStarted = Promise.all(sources.map((source) => this.#startSource(source, signal))).then(
      () => undefined,
    );
    return this.#sourcesStarted;
  }

  /** Starts one source and waits for its first list. */
  async #startSource(source: Source, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const limit = this.#options.cacheSyncTimeout ?? defaultCacheSyncTimeoutMs;
    const late = new AbortController();
    const within = AbortSignal.any([signal, late.signal]);
    const stopTimer = clock.timer(limit, () => {
      late.abort(new AgentError('deadline_exceeded', `timed out after ${limit} ms`));
    });
    let started = false;
    try {
      this.#logger.debug('starting event source', { source: source.toString() });
      await untilAborted(Promise.resolve(source.start(signal, this.#queueFor())), within);
      started = true;
      this.#startedSources.push(source);
      if (source.waitForSync) await untilAborted(source.waitForSync(within), within);
    } catch (reason) {
      if (isAborted(signal)) return;
      const what = started
        ? `failed to wait for ${this.name} caches to sync ${source.toString()}`
        : `controller ${this.name} cannot start source ${source.toString()}`;
      throw new AgentError('internal', `${what}: ${messageOf(reason)}`, { cause: reason });
    } finally {
      stopTimer();
    }
  }

  #queueFor(): SourceQueue {
    const { queue } = this;
    return {
      clock: this.#parts.clock,
      tracer: this.#parts.tracer?.(),
      add: queue.add.bind(queue),
      addAfter: queue.addAfter.bind(queue),
      addRateLimited: queue.addRateLimited.bind(queue),
      addWithOpts: queue.addWithOpts.bind(queue),
      failed: (message) => {
        this.#logger.error('event lost', { err: message });
      },
    };
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this;
    for (;;) {
      const taken = queue.take();
      const item = taken instanceof Promise ? await taken : taken;
      if (!item) return;
      try {
        await this.#process(item, signal);
      } finally {
        queue.done(item.request);
      }
    }
  }

  async #process(item: Taken, signal: AbortSignal): Promise<Attempt> {
    const { metrics, clock } = this.#parts;
    metrics.active(1);
    try {
      const attempted = await this.#attempt(item, signal);
      const { outcome, context } = attempted;
      const ms = steadyNow(clock) - item.takenAt;
      if ('error' in outcome) this.#failed(item, outcome.error, { context, ms });
      else this.#succeeded(item, outcome.result, ms);
      return attempted;
    } finally {
      metrics.active(-1);
    }
  }

  #attempt(item: Taken, signal: AbortSignal): Promise<Attempt> {
    const tracing = this.#parts.tracer?.();
    if (!tracing) return attempt(item, this.#attempts, signal);
    const { namespace, name } = item.request;
    const attributes = {
      'controller.name': this.name,
      'k8s.namespace.name': namespace,
      'k8s.object.name': name,
      'podtender.queue.wait_ms': item.waitedMs,
    };
    return traced(tracing, 'reconcile', { parent: item.trace ?? 'none', attributes }, async (span) => {
      const done = await attempt(item, this.#attempts, signal);
      if ('error' in done.outcome) span.end(done.outcome.error);
      return done;
    });
  }

  #succeeded({ request, priority }: Taken, result: Result, ms: number): void {
    const { queue } = this;
    const { metrics } = this.#parts;
    const next = result.priority ?? priority;
    const cause = { type: 'requeue', source: this.name } as const;
    const { requeueAfter = 0 } = result;
    if (requeueAfter > 0) {
      queue.forget(request);
      queue.addWithOpts({ after: requeueAfter, priority: next, cause }, request);
      metrics.reconciled('requeue_after', ms);
    } else if (result.requeue) {
      queue.addWithOpts({ rateLimited: true, priority: next, cause }, request);
      metrics.reconciled('requeue', ms);
    } else {
      queue.forget(request);
      metrics.reconciled('success', ms);
    }
  }

  #failed(
    { request, priority }: Taken,
    error: unknown,
    { context, ms }: { readonly context: ReconcileContext; readonly ms: number },
  ): void {
    const { metrics } = this.#parts;
    metrics.reconciled('error', ms);
    if (isTerminalError(error)) metrics.terminalError();
    else
      this.queue.addWithOpts(
        { rateLimited: true, priority, cause: { type: 'retry', source: this.name } },
        request,
      );
    // what a stop has cut short is no fault
    if (isAborted(context.signal) && this.queue.shuttingDown) return;
    context.logger.error('Reconciler error', { err: messageOf(error), ...stackOf(error) });
  }
}

const stackOf = (error: unknown): { readonly stack?: string } =>
  error instanceof PanicError && error.cause instanceof Error && error.cause.stack !== undefined
    ? { stack: error.cause.stack }
    : {};

/** Resolves when `signal` aborts. */
const untilShutDown = (signal: AbortSignal): Promise<void> =>
  new Latch().wait(signal).catch(ignoreAbort(signal));

const ignoreAbort =
  (signal: AbortSignal) =>
  (reason: unknown): void => {
    if (!isAborted(signal)) throw reason;
  };
