import { type Clock, type StopTimer, steadyNow } from './clock.ts';

/** The deadlines of one length, the earliest first: each begins later than the one before it. */
interface Lane {
  readonly open: Set<Deadline>;
  stopTimer: StopTimer | undefined;
}

/** A deadline that runs. */
export class Deadline {
  readonly at: number;
  readonly passed: () => void;
  readonly #open: Set<Deadline>;

  constructor(at: number, passed: () => void, open: Set<Deadline>) {
    this.at = at;
    this.passed = passed;
    this.#open = open;
  }

  /** Ends the deadline; a no-op once it has passed. */
  stop(): void {
    this.#open.delete(this);
  }
}

/**
 * Deadlines runs many deadlines of few lengths, of which hardly any passes: those of one length share a timer. It looks at the oldest one
 * when it fires, so that to begin and to stop a deadline sets no timer.
 *
 * @example
 * const deadlines = new Deadlines(clock);
 * const deadline = deadlines.begin(10_000, () => { controller.abort(); });
 * await work(controller.signal);
 * deadline.stop();
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #lanes = new Map<number, Lane>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `passed` after `ms`, unless the deadline is stopped before. */
  begin(ms: number, passed: () => void): Deadline {
    let lane = this.#lanes.get(ms);
    if (!lane) {
      lane = { open: new Set(), stopTimer: undefined };
      this.#lanes.set(ms, lane);
    }
    const deadline = new Deadline(steadyNow(this.#clock) + ms, passed, lane.open);
    lane.open.add(deadline);
    if (!lane.stopTimer) this.#plan(lane, ms, ms);
    return deadline;
  }

  /** Stops all deadlines. */
  close(): void {
    for (const { open, stopTimer } of this.#lanes.values()) {
      open.clear();
      stopTimer?.();
    }
    this.#lanes.clear();
  }

  #plan(lane: Lane, ms: number, wait: number): void {
    lane.stopTimer = this.#clock.timer(wait, () => {
      lane.stopTimer = undefined;
      this.#look(lane, ms);
    });
  }

  #look(lane: Lane, ms: number): void {
    const now = steadyNow(this.#clock);
    for (const deadline of lane.open) {
      if (deadline.at > now) {
        this.#plan(lane, ms, deadline.at - now);
        return;
      }
      deadline.stop();
      deadline.passed();
    }
    if (!lane.stopTimer) this.#lanes.delete(ms);
  }
}
