import { type Clock, steadyNow } from '../base/clock.ts';

/** A problem that is not found for this long was gone in between, ms: more than the period of listings. */
const problemLastsMs = 45_000;

/** Which problems of manifests last, so that each is told once. Those that are gone are forgotten: some tell something else each time. */
export class LastingProblems {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  /** When each was last found, the longest ago first. */
  readonly #foundAt = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Takes note of a problem that was found. @returns whether it is one that was not there before */
  isNew(source: string, message: string): boolean {
    const now = steadyNow(this.#clock);
    for (const [known, at] of this.#foundAt) {
      if (now - at <= problemLastsMs) break;
      this.#foundAt.delete(known);
    }
    const key = `${source}\n${message}`;
    const isNew = !this.#foundAt.delete(key);
    this.#foundAt.set(key, now);
    return isNew;
  }
}
