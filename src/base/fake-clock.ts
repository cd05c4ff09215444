import { type Clock, sleepBy, type StopTimer } from './clock.ts';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Lets every promise that can settle without outside help settle. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/**
 * A clock that stands still until it is told to move. Timers fire in order of their due time, and between two of them
 * everything that can settle settles, so a test never waits.
 */
export class FakeClock implements Clock {
  #now: number;
  /** What the clock was set forward. */
  #setMs = 0;
  #order = 0;
  readonly #due = new Set<Due>();

  /** @param startMs the first reading, ms since the epoch */
  constructor(startMs = 0) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now + this.#setMs;
  }

  steady(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((span, fn) => this.timer(span, fn), ms, signal);
  }

  timer(ms: number, fn: () => void): StopTimer {
    const due: Due = { at: this.#now + Math.max(0, ms), order: this.#order++, fire: fn };
    this.#due.add(due);
    return () => {
      this.#due.delete(due);
    };
  }

  /** How many timers and sleeps wait. */
  get pending(): number {
    return this.#due.size;
  }

  /** Moves the reading without firing anything that is due; for replays that wake things themselves. */
  set(now: number): void {
    this.#now = now - this.#setMs;
  }

  /** Somebody sets the clock `ms` forward, or back if less than 0: no time passes, and nothing falls due by it. */
  jump(ms: number): void {
    this.#setMs += ms;
  }

  /** Moves on by `ms`, firing what falls due on the way and settling after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  #next(end: number): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due) {
      if (due.at > end) continue;
      if (!first || due.at < first.at || (due.at === first.at && due.order < first.order)) first = due;
    }
    return first;
  }
}
