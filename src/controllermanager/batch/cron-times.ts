import type { CronSchedule } from '../../kube/cron-schedule.ts';

const dayMs = 86_400_000;
/** More than the offset of any zone from UTC, ms. */
const marginMs = 15 * 3_600_000;
/** How far the next time is looked for: a schedule like 29 February may wait eight years around 1900 or 2100. */
const longestDays = 366 * 5;

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

/** The offsets of a zone that are in force on a local day, ms: two when its clock is changed. */
function offsetsOf(day: number, clock: LocalOf): readonly number[] {
  const at = (local: number): number => clock(local) - local;
  const [before, after] = [at(day - marginMs), at(day + dayMs + marginMs)];
  return before === after ? [before] : [before, after];
}

/** Returns the first time of a day after `after` at which the clock shows one of the hours and minutes. */
function firstOfDay(
  { hours, minutes }: FieldSchedule,
  day: number,
  after: number,
  clock: LocalOf,
): number | undefined {
  const offsets = offsetsOf(day, clock);
  let first = Infinity;
  for (const hour of hours)
    for (const minute of minutes)
      for (const offset of offsets) {
        const local = day + (hour * 60 + minute) * 60_000;
        const instant = local - offset;
        if (instant <= after || instant >= first) continue;
        // with two offsets a clock shows some times twice and others never
        if (offsets.length === 1 || clock(instant) === local) first = instant;
      }
  return first === Infinity ? undefined : first;
}

/**
 * Returns the first time after `after` at which a schedule is due, ms; undefined: there is none within five years. What the clock of the zone
 * skips in spring is not due that day; what it shows twice in autumn is due twice, as in kube-controller-manager.
 */
export function nextTime(schedule: CronSchedule, after: number, zone: string): number | undefined {
  if (schedule.everyMs !== undefined) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  const clock = localClock(schedule.zone ?? zone);
  const today = Math.floor(clock(after) / dayMs) * dayMs;
  // the clock may have been put back to the day before
  for (let day = -1; day < longestDays; day++) {
    const date = today + day * dayMs;
    const first = isDue(schedule, new Date(date)) ? firstOfDay(schedule, date, after, clock) : undefined;
    if (first !== undefined) return first;
  }
  return undefined;
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
