import { type FunctionDecl, method } from '../check/declarations.ts';
import { durationType, intType, stringType, timestampType } from '../check/types.ts';
import { type Duration, EvalError, type Timestamp, type Value } from '../values/value.ts';

const perMilli = 1_000_000n;
const perDay = 86_400_000;

/** A date and time of day, as UTC shows those of a time zone. */
type Clock = Date;

/** Returns the time of day in a zone: a name, or an offset as `-07:30`. @throws {EvalError} */
function clockOf({ nanos }: Timestamp, zone: string): Clock {
  const ms = Number(nanos >= 0n ? nanos / perMilli : -((-nanos + perMilli - 1n) / perMilli));
  return new Date(ms + offsetOf(zone, ms));
}

function offsetOf(zone: string, at: number): number {
  if (zone === '' || zone === 'UTC') return 0;
  const colon = zone.indexOf(':');
  if (colon === -1) return offsetOfName(zone, at);
  const hours = integer(zone.slice(0, colon));
  const minutes = integer(zone.slice(colon + 1));
  return (hours * 60 + (zone.startsWith('-') ? -minutes : minutes)) * 60_000;
}

function integer(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw new EvalError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function offsetOfName(zone: string, at: number): number {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  } catch {
    throw new EvalError(`unknown time zone ${zone}`);
  }
}

const dayOfYear = (clock: Clock): number =>
  Math.floor((clock.getTime() - Date.UTC(clock.getUTCFullYear(), 0, 1)) / perDay);

const parts: readonly (readonly [name: string, id: string, read: (clock: Clock) => number])[] = [
  ['getFullYear', 'year', (clock) => clock.getUTCFullYear()],
  ['getMonth', 'month', (clock) => clock.getUTCMonth()],
  ['getDayOfYear', 'day_of_year', dayOfYear],
  ['getDayOfMonth', 'day_of_month', (clock) => clock.getUTCDate() - 1],
  ['getDate', 'day_of_month_1_based', (clock) => clock.getUTCDate()],
  ['getDayOfWeek', 'day_of_week', (clock) => clock.getUTCDay()],
  ['getHours', 'hours', (clock) => clock.getUTCHours()],
  ['getMinutes', 'minutes', (clock) => clock.getUTCMinutes()],
  ['getSeconds', 'seconds', (clock) => clock.getUTCSeconds()],
  ['getMilliseconds', 'milliseconds', (clock) => clock.getUTCMilliseconds()],
];

const partOf =
  (read: (clock: Clock) => number) =>
  (time: Value, zone: Value = 'UTC'): Value =>
    BigInt(read(clockOf(time as Timestamp, zone as string)));

const units: readonly (readonly [name: string, id: string, nanos: bigint])[] = [
  ['getHours', 'hours', 3_600_000_000_000n],
  ['getMinutes', 'minutes', 60_000_000_000n],
  ['getSeconds', 'seconds', 1_000_000_000n],
  ['getMilliseconds', 'milliseconds', 1_000_000n],
];

/** Parts of times, in UTC or in a zone, and durations in whole units. */
export const timeFunctions: readonly FunctionDecl[] = [
  ...parts.map(([name, id, read]) =>
    method(
      name,
      [`timestamp_to_${id}`, [timestampType], intType, partOf(read)],
      [`timestamp_to_${id}_with_tz`, [timestampType, stringType], intType, partOf(read)],
    ),
  ),
  ...units.map(([name, id, nanos]) =>
    method(name, [`duration_to_${id}`, [durationType], intType, (x) => (x as Duration).nanos / nanos]),
  ),
];
