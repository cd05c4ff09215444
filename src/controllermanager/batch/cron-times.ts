import type { CronSchedule } from '../../kube/cron-schedule.ts';

const secondMs = 1000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
/** How far the next time is looked for: a schedule like 29 February may wait eight years around 1900 or 2100. */
const longestYears = 5;

type FieldSchedule = Exclude<CronSchedule, { readonly everyMs: number }>;

/** Returns the parts of a time on the clock of a zone as if that were UTC, ms. */
type LocalOf = (ms: number) => number;

function localClock(zone: string): LocalOf {
  if (zone === 'UTC' || zone === '') return (ms) => ms;
  const format = new Intl.DateTimeFormat('en-US', {
    ...(zone !== 'Local' && { timeZone: zone }),
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  };
}

/**
 * Search looks for the time of a schedule by going forward from one time to the next that fits: first in months, then in days, hours and minutes;
 * whenever a field begins anew, from the months on again. On days on which the clock is changed its steps decide what is due.
 *
 * Follows robfig/cron v3 `SpecSchedule.Next`, which kube-controller-manager uses.
 */
class Search {
  readonly #schedule: FieldSchedule;
  readonly #clock: LocalOf;
  #at = 0;
  /** What the clock shows at `#at`. */
  #shown = new Date(0);
  /** Whether a step has been taken: the fields below it have begun anew. */
  #isBegun = false;

  constructor(schedule: FieldSchedule, clock: LocalOf) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** Returns the first time after `after`, ms; undefined: there is none within five years. */
  after(after: number): number | undefined {
    this.#go((Math.floor(after / secondMs) + 1) * secondMs);
    const last = this.#shown.getUTCFullYear() + longestYears;
    while (this.#shown.getUTCFullYear() <= last) {
      const isWrapped = this.#months() || this.#days() || this.#hours() || this.#minutes() || this.#seconds();
      if (!isWrapped) return this.#at;
    }
    return undefined;
  }

  #go(at: number): void {
    this.#at = at;
    this.#shown = new Date(this.#clock(at));
  }

  /** Goes to what a clock shows; of a time that it shows never or twice to one of two, as Go's `time.Date`. */
  #goTo(shown: number): void {
    const offsetAt = (at: number): number => this.#clock(at) - at;
    const offset = offsetAt(shown);
    const isRight = offset === 0 || offsetAt(shown - offset) === offset;
    this.#go(shown - (isRight ? offset : offsetAt(shown - offset)));
  }

  /** Lets the fields below one begin anew, before the first step. */
  #begin(go: () => void): void {
    if (!this.#isBegun) go();
    this.#isBegun = true;
  }

  /** Each goes on until its field fits. @returns whether it has begun anew: then the search begins with the months again */
  #months(): boolean {
    while (!this.#schedule.months.has(this.#shown.getUTCMonth() + 1)) {
      this.#begin(() => {
        this.#goTo(Date.UTC(this.#shown.getUTCFullYear(), this.#shown.getUTCMonth(), 1));
      });
      this.#goTo(shifted(this.#shown, (date) => date.setUTCMonth(date.getUTCMonth() + 1)));
      if (this.#shown.getUTCMonth() === 0) return true;
    }
    return false;
  }

  #days(): boolean {
    while (!isDue(this.#schedule, this.#shown)) {
      this.#begin(() => {
        this.#goTo(shifted(this.#shown, (date) => date.setUTCHours(0, 0, 0, 0)));
      });
      const before = this.#at;
      this.#goTo(shifted(this.#shown, (date) => date.setUTCDate(date.getUTCDate() + 1)));
      // a zone may leave out a whole day: robfig/cron never ends there
      if (this.#at <= before) this.#go(before + 24 * hourMs);
      const hour = this.#shown.getUTCHours();
      // there is no midnight on a day that begins with a change of the clock
      if (hour !== 0) this.#go(this.#at + (hour > 12 ? 24 - hour : -hour) * hourMs);
      if (this.#shown.getUTCDate() === 1) return true;
    }
    return false;
  }

  #hours(): boolean {
    while (!this.#schedule.hours.has(this.#shown.getUTCHours())) {
      this.#begin(() => {
        this.#goTo(shifted(this.#shown, (date) => date.setUTCMinutes(0, 0, 0)));
      });
      this.#go(this.#at + hourMs);
      if (this.#shown.getUTCHours() === 0) return true;
    }
    return false;
  }

  #minutes(): boolean {
    while (!this.#schedule.minutes.has(this.#shown.getUTCMinutes())) {
      this.#begin(() => {
        this.#go(Math.floor(this.#at / minuteMs) * minuteMs);
      });
      this.#go(this.#at + minuteMs);
      if (this.#shown.getUTCMinutes() === 0) return true;
    }
    return false;
  }

  #seconds(): boolean {
    if (this.#shown.getUTCSeconds() === 0) return false;
    this.#isBegun = true;
    this.#go(this.#at + (60 - this.#shown.getUTCSeconds()) * secondMs);
    return true;
  }
}

/** Returns a date after a change, ms. */
const shifted = (date: Date, change: (copy: Date) => number): number => change(new Date(date));

/**
 * Returns the first time after `after` at which a schedule is due, ms; undefined: there is none within five years. What the clock of the zone
 * skips in spring is not due that day; what it shows twice in autumn is due twice, as in kube-controller-manager.
 */
export function nextTime(schedule: CronSchedule, after: number, zone: string): number | undefined {
  if (schedule.everyMs !== undefined) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  return new Search(schedule, localClock(schedule.zone ?? zone)).after(after);
}

function isDue(schedule: FieldSchedule, date: Date): boolean {
  if (!schedule.months.has(date.getUTCMonth() + 1)) return false;
  const ofMonth = schedule.daysOfMonth.has(date.getUTCDate());
  const ofWeek = schedule.daysOfWeek.has(date.getUTCDay());
  return schedule.anyDayOfMonth || schedule.anyDayOfWeek ? ofMonth && ofWeek : ofMonth || ofWeek;
}

/** The times of a schedule that have passed. */
export interface Missed {
  /** The latest one. */
  readonly last: number | undefined;
  readonly count: number;
}

/** Missed times beyond this number are not counted one by one. */
export const tooMany = 100;

/** Returns the times after `since` up to `now`. */
export function missedTimes(
  schedule: CronSchedule,
  zone: string,
  { since, now }: { readonly since: number; readonly now: number },
): Missed {
  let last: number | undefined;
  let count = 0;
  // of very many only those of the end matter
  for (let at = nextTime(schedule, since, zone); at !== undefined && at <= now; count++) {
    last = at;
    const skipped = count > tooMany ? nextTime(schedule, Math.floor((at + now) / 2), zone) : undefined;
    at = skipped !== undefined && skipped <= now ? skipped : nextTime(schedule, at, zone);
  }
  return { last, count };
}
