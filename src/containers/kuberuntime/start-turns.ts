import type { Clock } from '../../base/clock.ts';

/** CPU-intensive runtime calls in order of priority: earlier ones in this list are admitted first. */
const order = ['startContainer', 'createContainer', 'runPodSandbox'] as const;

/** A runtime call that StartTurns limits. */
export type StartCall = (typeof order)[number];

/**
 * A call that takes longer than this no longer counts against the limit, ms: it waits for something else, such as an address or a slow
 * disk.
 */
const slowMs = 2000;

/**
 * StartTurns limits the number of parallel runtime calls that start pods. When fifty pods arrive at once, the kubelet requests fifty
 * sandboxes, and all pods become ready at the very end; in turns they become ready one by one, the last one hardly later. Pods that have
 * begun to start are finished first.
 */
export class StartTurns {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #limit: number;
  readonly #waiting: readonly (() => void)[][] = order.map(() => []);
  #running = 0;

  /** @param limit absent: no limit, as in the kubelet */
  constructor(clock: Pick<Clock, 'timer'>, limit: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Makes the call when its turn comes, or at once when the signal aborts: the call itself then fails. */
  async run<T>(name: StartCall, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#limit === Number.POSITIVE_INFINITY) return call();
    if (this.#running < this.#limit) this.#running++;
    else if (!(await this.#turn(name, signal))) return call();
    let counts = true;
    const leave = (): void => {
      if (!counts) return;
      counts = false;
      this.#running--;
      this.#next();
    };
    const stop = this.#clock.timer(slowMs, leave);
    try {
      return await call();
    } finally {
      stop();
      leave();
    }
  }

  /** Waits for a turn and counts it. @returns false when the signal aborted first */
  #turn(name: StartCall, signal: AbortSignal | undefined): Promise<boolean> {
    const queue = this.#waiting[order.indexOf(name)] ?? [];
    return new Promise((resolve) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        const at = queue.indexOf(enter);
        if (at < 0) return;
        queue.splice(at, 1);
        resolve(false);
      };
      if (signal?.aborted === true) {
        resolve(false);
        return;
      }
      queue.push(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #next(): void {
    const enter = this.#waiting.find((queue) => queue.length > 0)?.shift();
    if (!enter) return;
    this.#running++;
    enter();
  }
}
