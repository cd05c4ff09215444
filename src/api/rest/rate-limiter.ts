import { type Clock, type StopTimer, steadyNow } from '../../base/clock.ts';

/** Order in which waiting requests are sent: leases and statuses, then everything else, then events. */
export type Priority = 0 | 1 | 2;

interface Waiter {
  readonly go: () => void;
}

/**
 * RateLimiter is a token bucket with three queues: `qps` tokens a second, up to `burst` saved (client-go `flowcontrol`). Waiting requests
 * are served by priority, then by arrival, so a flood of events never delays a lease.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #qps: number;
  readonly #burst: number;
  readonly #queues: readonly Waiter[][] = [[], [], []];
  #tokens: number;
  #filledAt: number;
  #stopTimer: StopTimer | undefined;

  /** @param qps 0 or less: no limit */
  constructor(clock: Clock, qps: number, burst: number) {
    this.#clock = clock;
    this.#qps = qps;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#filledAt = steadyNow(clock);
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.length, 0);
  }

  /**
   * Takes a token. Returns `undefined` when there is one; otherwise a promise that resolves with the token, or rejects when `signal`
   * aborts first.
   */
  acquire(priority: Priority, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#qps <= 0) return undefined;
    this.#fill();
    if (this.#tokens >= 1 && this.waiting === 0) {
      this.#tokens--;
      return undefined;
    }
    return this.#wait(priority, signal);
  }

  /** Takes a token if there is one, without waiting. */
  tryAcquire(): boolean {
    if (this.#qps <= 0) return true;
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  #wait(priority: Priority, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const queue = this.#queues[priority] ?? [];
      const abort = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        go: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      queue.push(waiter);
      this.#plan();
    });
  }

  #fill(): void {
    const now = steadyNow(this.#clock);
    const passed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(this.#burst, this.#tokens + (passed * this.#qps) / 1000);
    this.#filledAt = now;
  }

  #plan(): void {
    if (this.#stopTimer || this.waiting === 0) return;
    const missing = Math.max(0, 1 - this.#tokens);
    this.#stopTimer = this.#clock.timer(Math.ceil((missing * 1000) / this.#qps), () => {
      this.#stopTimer = undefined;
      this.#serve();
    });
  }

  #serve(): void {
    this.#fill();
    for (const queue of this.#queues) {
      while (this.#tokens >= 1 && queue.length > 0) {
        this.#tokens--;
        queue.shift()?.go();
      }
    }
    this.#plan();
  }
}
