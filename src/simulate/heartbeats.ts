import { type Clock, steadyNow, type StopTimer } from '../base/clock.ts';

/** The granularity of heartbeats, ms. */
const tickMs = 250;

interface Beat {
  readonly periodMs: number;
  readonly beat: () => void;
}

/**
 * Heartbeats calls functions periodically, thousands of them with one timer. The periods of equal length are spread by their offsets, so that
 * the nodes of a simulation do not write at the same time.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #due = new Map<number, Beat[]>();
  readonly #ended = new WeakSet<Beat>();
  #tick = 0;
  #stop: StopTimer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = steadyNow(clock);
  }

  /**
   * Calls `beat` every `periodMs`, first after `offsetMs`. It must not throw.
   *
   * @returns a function that ends it
   */
  add(periodMs: number, offsetMs: number, beat: () => void): () => void {
    const entry: Beat = { periodMs, beat };
    this.#plan(entry, steadyNow(this.#clock) - this.#startedAt + offsetMs);
    this.#stop ??= this.#arm();
    return () => {
      this.#ended.add(entry);
    };
  }

  /** Ends all of them. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#due.clear();
  }

  #plan(entry: Beat, atMs: number): void {
    const tick = Math.max(this.#tick + 1, Math.ceil(atMs / tickMs));
    const bucket = this.#due.get(tick);
    if (bucket) bucket.push(entry);
    else this.#due.set(tick, [entry]);
  }

  #arm(): StopTimer {
    return this.#clock.timer(tickMs, () => {
      this.#stop = this.#arm();
      this.#advance(Math.floor((steadyNow(this.#clock) - this.#startedAt) / tickMs));
    });
  }

  #advance(now: number): void {
    while (this.#tick < now) {
      this.#tick += 1;
      const bucket = this.#due.get(this.#tick);
      if (!bucket) continue;
      this.#due.delete(this.#tick);
      for (const entry of bucket) {
        if (this.#ended.has(entry)) continue;
        this.#plan(entry, this.#tick * tickMs + entry.periodMs);
        entry.beat();
      }
    }
  }
}
