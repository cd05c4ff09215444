import type { Clock } from '../../base/clock.ts';

/** Calls that keep a machine's processors busy; whichever stands first here is let in first. */
const order = ['startContainer', 'createContainer', 'runPodSandbox'] as const;

/** A call that waits for its turn. */
export type StartCall = (typeof order)[number];

/** A call that takes longer than this, ms, waits for something itself, say for an address or a slow disk, and holds nobody up. */
const slowMs = 2000;

/**
 * Lets at most `limit` calls at one time into the runtime that start pods. Where fifty pods come at once, the kubelet asks for fifty sandboxes, and all pods
 * run at the very end; in turns they run one after the other, and the last one hardly later. What is begun is finished first.
 */
export class StartTurns {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #limit: number;
  readonly #waiting: readonly (() => void)[][] = order.map(() => []);
  #running = 0;

  /** @param limit absent: no limit, as the kubelet */
  constructor(clock: Pick<Clock, 'timer'>, limit: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Makes the call when its turn has come; with a signal that is aborted before, at once: it is the call that then fails. */
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

  /** @returns whether it is this call's turn, which is counted then; otherwise nobody waits for it any more */
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
