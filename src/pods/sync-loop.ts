import { Observable, type Subscription } from 'rxjs';
import { type Clock, steadyNow, type StopTimer } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

/** The pause of the loop while the runtime is unhealthy: 100 ms, doubling to 5 s, reset on success (R36). */
const pause = { baseMs: 100, maxMs: 5000 };

export interface SyncLoopDeps<Input extends { readonly type: string }> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The errors that stop the loop from taking inputs; empty when it may continue. */
  runtimeErrors(): readonly string[];
  /** Handles one input at a time; an error is logged and the loop continues. */
  handle(input: Input): Promise<void> | undefined;
  /** The input types of which only one has to wait: the ticks. */
  readonly coalesce: ReadonlySet<Input['type']>;
  /** True when handling the input would do nothing: while the loop rests, it then counts as handled. */
  isIdle?(input: Input): boolean;
}

/**
 * SyncLoop is the main loop: one actor on which all handlers run, one at a time (R35). Inputs wait in order while the runtime is unhealthy
 * (R36) and while a handler runs (R80).
 *
 * Follows kubelet `syncLoop`.
 */
export class SyncLoop<Input extends { readonly type: string }> {
  readonly #deps: SyncLoopDeps<Input>;
  #queue: Input[] = [];
  readonly #waiting = new Set<Input['type']>();
  /** Resumes the loop; undefined while it does not wait for an input. */
  #wake: (() => void) | undefined;
  #iteration: { readonly startedAt: number; readonly endedAt?: number } | undefined;

  constructor(deps: SyncLoopDeps<Input>) {
    this.#deps = deps;
  }

  /** When the last iteration began and, if it has ended, when it ended; for the `syncloop` health check (R37). */
  get lastIteration(): { readonly startedAt: number; readonly endedAt?: number } | undefined {
    return this.#iteration;
  }

  /** Handles `inputs` until `signal` aborts or `inputs` completes (R39). */
  async run(inputs: Observable<Input>, signal: AbortSignal): Promise<void> {
    let done = false;
    const finish = (): void => {
      done = true;
      this.#resume();
    };
    const subscription: Subscription = inputs.subscribe({
      next: (input) => {
        this.#push(input);
      },
      complete: finish,
      error: (reason: unknown) => {
        this.#deps.logger.error('an input of the sync loop failed', { err: messageOf(reason) });
        finish();
      },
    });
    signal.addEventListener('abort', finish, { once: true });
    try {
      await this.#drain(() => done || signal.aborted, signal);
    } finally {
      subscription.unsubscribe();
      signal.removeEventListener('abort', finish);
    }
  }

  #push(input: Input): void {
    if (this.#isNothing(input)) {
      const at = steadyNow(this.#deps.clock);
      this.#iteration = { startedAt: at, endedAt: at };
      return;
    }
    if (this.#deps.coalesce.has(input.type)) {
      if (this.#waiting.has(input.type)) return;
      this.#waiting.add(input.type);
    }
    this.#queue.push(input);
    this.#resume();
  }

  #resume(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** True when the loop rests, is healthy, and the input needs no work. Most ticks of a node are of this kind. */
  #isNothing(input: Input): boolean {
    const deps = this.#deps;
    return this.#wake !== undefined && deps.isIdle?.(input) === true && deps.runtimeErrors().length === 0;
  }

  async #drain(ended: () => boolean, signal: AbortSignal): Promise<void> {
    while (!ended()) {
      if (this.#queue.length === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      if (!(await this.#runtimeIsHealthy(signal))) return;
      await this.#handleWaiting(signal);
    }
  }

  async #handleWaiting(signal: AbortSignal): Promise<void> {
    const batch = this.#queue;
    this.#queue = [];
    for (let index = 0; index < batch.length; index++) {
      const input = batch[index];
      if (!input || signal.aborted) return;
      if (index > 0 && this.#deps.runtimeErrors().length > 0) {
        this.#queue = [...batch.slice(index), ...this.#queue];
        return;
      }
      this.#waiting.delete(input.type);
      // synchronous handlers run without a microtask in between, so that several events of one pod become one sync
      const pending = this.#handle(input);
      if (pending) await pending;
    }
  }

  #handle(input: Input): Promise<void> | undefined {
    const startedAt = steadyNow(this.#deps.clock);
    this.#iteration = { startedAt };
    const end = (): void => {
      this.#iteration = { startedAt, endedAt: steadyNow(this.#deps.clock) };
    };
    const failed = (reason: unknown): void => {
      this.#deps.logger.error('a handler of the sync loop failed', {
        input: input.type,
        err: messageOf(reason),
      });
    };
    try {
      const pending = this.#deps.handle(input);
      if (pending) return pending.catch(failed).then(end);
    } catch (reason) {
      failed(reason);
    }
    end();
    return undefined;
  }

  /** Waits until the runtime is healthy. Returns false when the loop has to end. */
  async #runtimeIsHealthy(signal: AbortSignal): Promise<boolean> {
    for (let ms = pause.baseMs; ; ms = Math.min(ms * 2, pause.maxMs)) {
      const errors = this.#deps.runtimeErrors();
      if (errors.length === 0) return true;
      this.#deps.logger.warn('skipping pod synchronization', { errors });
      await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
      if (signal.aborted) return false;
    }
  }
}

/** Emits `value` every `periodMs`, for the first time after one period. */
export function ticks<T>(clock: Clock, periodMs: number, value: T): Observable<T> {
  return new Observable((subscriber) => {
    let stop: StopTimer;
    const arm = (): void => {
      stop = clock.timer(periodMs, () => {
        arm();
        subscriber.next(value);
      });
    };
    arm();
    return () => {
      stop();
    };
  });
}
