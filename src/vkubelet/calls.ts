import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Context } from './contract.ts';

/** How long a call that only looks may take, ms. */
export const lookTimeoutMs = 30_000;
/** How long a call that changes something may take, ms. */
export const actTimeoutMs = 120_000;

/** Calls of a provider's methods, each with a deadline. */
export class Calls {
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  context(signal: AbortSignal): Context {
    return { signal, logger: this.#logger };
  }

  /** A call that changes something. @throws {AgentError} `deadline_exceeded` when it takes too long */
  act<T>(method: string, call: (context: Context) => T, signal: AbortSignal): Promise<Awaited<T>> {
    return this.#within(method, actTimeoutMs, call, signal);
  }

  /** A call that only looks. @throws {AgentError} `deadline_exceeded` when it takes too long */
  ask<T>(method: string, call: (context: Context) => T, signal: AbortSignal): Promise<Awaited<T>> {
    return this.#within(method, lookTimeoutMs, call, signal);
  }

  /** The answer of a call, or a rejection when its time is over; the call's signal aborts then. */
  async #within<T>(
    method: string,
    ms: number,
    call: (context: Context) => T,
    signal: AbortSignal,
  ): Promise<Awaited<T>> {
    const own = new AbortController();
    const late = Promise.withResolvers<never>();
    const end = (reason: Error): void => {
      own.abort(reason);
      late.reject(reason);
    };
    const abort = (): void => {
      end(signal.reason as Error);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const stop = this.#clock.timer(ms, () => {
      end(new AgentError('deadline_exceeded', `${method}: no answer within ${ms / 1000} s`));
    });
    try {
      return await Promise.race([call(this.context(own.signal)), late.promise]);
    } finally {
      stop();
      signal.removeEventListener('abort', abort);
      late.promise.catch(() => undefined);
    }
  }
}
