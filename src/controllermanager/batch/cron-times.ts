import type { CronSchedule } from '../../kube/cron-schedule.ts';

const dayMs = 86_400_000;
/** By how much a clock is put back at most, ms. */
const longestShiftMs = 7_200_000;
/** How far the next time is looked for: a schedule like 29 February may wait eight years around 1900 or 2100. */
const longestDays = 366 * 5;

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

/** Returns the time at which a clock shows `local`; undefined: it never does, since summer time begins. */
function instantOf(local: number, clock: LocalOf): number | undefined {
  const guess = local - (clock(local) - local);
  const exact = guess - (clock(guess) - local);
  return clock(exact) === local ? exact : clock(guess) === local ? guess : undefined;
}

/** Returns the first time after `after` at which a schedule is due, ms; undefined: there is none within five years. */
export function nextTime(schedule: CronSchedule, after: number, zone: string): number | undefined {
  if (schedule.everyMs !== undefined) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  const clock = localClock(schedule.zone ?? zone);
  const before = clock(after);
  const today = Math.floor(before / dayMs) * dayMs;
  const hours = [...schedule.hours].sort((one, other) => one - other);
  const minutes = [...schedule.minutes].sort((one, other) => one - other);
  for (let day = 0; day < longestDays; day++) {
    const date = today + day * dayMs;
    if (!isDue(schedule, new Date(date))) continue;
    for (const hour of hours)
      for (const minute of minutes) {
        const local = date + (hour * 60 + minute) * 60_000;
        if (local < before - longestShiftMs) continue;
        const at = instantOf(local, clock);
        if (at !== undefined && at > after) return at;
      }
  }
  return undefined;
}

function isDue(schedule: Exclude<CronSchedule, { readonly everyMs: number }>, date: Date): boolean {
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
