import { goQuote } from '../go/go-quote.ts';
import { ownMember, tableOf } from '../base/own.ts';
import { parseDuration } from './duration.ts';

/** CronSchedule is when a cron job is due: at times of the clock that match all fields, or at a fixed interval. */
export type CronSchedule =
  | {
      readonly minutes: ReadonlySet<number>;
      readonly hours: ReadonlySet<number>;
      readonly daysOfMonth: ReadonlySet<number>;
      readonly months: ReadonlySet<number>;
      /** 0 is Sunday. */
      readonly daysOfWeek: ReadonlySet<number>;
      /** Whether the field is `*`: then only the other one of the two kinds of days counts; else either may match. */
      readonly anyDayOfMonth: boolean;
      readonly anyDayOfWeek: boolean;
      /** Time zone in the schedule itself; absent: the one of the clock. */
      readonly zone?: string;
      readonly everyMs?: undefined;
    }
  | { readonly everyMs: number; readonly zone?: string };

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
}

const numbered = (from: number, names: string): Readonly<Record<string, number>> =>
  tableOf(Object.fromEntries(names.split(' ').map((name, i) => [name, i + from])));

const fields: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: numbered(1, 'jan feb mar apr may jun jul aug sep oct nov dec') },
  { min: 0, max: 6, names: numbered(0, 'sun mon tue wed thu fri sat') },
];

const descriptors: Readonly<Record<string, string>> = tableOf({
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
});

const spaces = /[\t\n\v\f\r \u0085\u00a0]+/;
const every = '@every ';

/** An invalid schedule, with the message that Kubernetes' parser gives. */
class ScheduleFault extends Error {
  override readonly name = 'ScheduleFault';
}

/**
 * Parses a schedule: five fields, or a descriptor like `@daily` or `@every 1h`.
 *
 * Follows robfig/cron v3 `ParseStandard`, which Kubernetes uses.
 *
 * @returns the schedule, or a message that says what is wrong
 */
export function parseCronSchedule(text: string): CronSchedule | string {
  try {
    return scheduleOf(text);
  } catch (reason) {
    if (reason instanceof ScheduleFault) return reason.message;
    throw reason;
  }
}

function scheduleOf(text: string): CronSchedule {
  if (text === '') throw new ScheduleFault('empty spec string');
  const [spec, zone] = zoned(text);
  const located = zone === undefined ? {} : { zone };
  if (!spec.startsWith('@')) return { ...fieldsOf(spec), ...located };
  const descriptor = descriptors[spec];
  if (descriptor !== undefined) return { ...fieldsOf(descriptor), ...located };
  if (!spec.startsWith(every)) throw new ScheduleFault(`unrecognized descriptor: ${spec}`);
  const interval = parseDuration(spec.slice(every.length));
  if (typeof interval === 'string') throw new ScheduleFault(`failed to parse duration ${spec}: ${interval}`);
  const seconds = Number(interval / 1_000_000_000n);
  return { everyMs: Math.max(seconds, 1) * 1000, ...located };
}

/** Splits a leading time zone from a schedule. */
function zoned(text: string): readonly [spec: string, zone?: string] {
  if (!/^(CRON_)?TZ=/.test(text)) return [text];
  const [start, end] = [text.indexOf('=') + 1, text.indexOf(' ')];
  if (end < start)
    throw new ScheduleFault(
      `invalid schedule format: runtime error: slice bounds out of range [${end < 0 ? `:${end}` : `${start}:${end}`}]`,
    );
  const zone = text.slice(start, end);
  if (!isTimeZone(zone)) throw new ScheduleFault(`provided bad location ${zone}: unknown time zone ${zone}`);
  return [text.slice(end).trim(), zone];
}

/** True for the name of a time zone that the machine knows; the empty name and UTC are UTC, `Local` is the machine's. */
export function isTimeZone(name: string): boolean {
  if (name === '' || name === 'UTC' || name === 'Local') return true;
  // the database has no offsets, which the formatter would take
  if (/^[+-]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // the database's names are in the case of its files
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

function fieldsOf(spec: string): CronSchedule {
  const parts = spec.split(spaces).filter((part) => part !== '');
  if (parts.length !== fields.length)
    throw new ScheduleFault(
      `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`,
    );
  const read = fields.map((bounds, i) => fieldOf(parts[i] ?? '', bounds));
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = read.map(({ values }) => values) as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  return {
    minutes,
    hours,
    daysOfMonth,
    months,
    daysOfWeek,
    anyDayOfMonth: read[2]?.any ?? false,
    anyDayOfWeek: read[4]?.any ?? false,
  };
}

interface Field {
  readonly values: Set<number>;
  readonly any: boolean;
}

function fieldOf(text: string, bounds: Bounds): Field {
  const values = new Set<number>();
  let any = false;
  for (const part of text.split(',').filter((one) => one !== '')) {
    const range = rangeOf(part, bounds);
    any ||= range.any;
    for (let value = range.start; value <= range.end; value += range.step) values.add(value);
  }
  return { values, any };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly any: boolean;
}

function rangeOf(text: string, bounds: Bounds): Range {
  const [span = '', ...steps] = text.split('/');
  const ends = span.split('-');
  const star = ends[0] === '*' || ends[0] === '?';
  const [start, end] = star ? [bounds.min, bounds.max] : endsOf(ends, text, bounds);
  if (steps.length > 1) throw new ScheduleFault(`too many slashes: ${text}`);
  const step = steps[0] === undefined ? 1 : integer(steps[0]);
  // a single number with a step has no end
  const last = steps.length === 1 && ends.length === 1 ? bounds.max : end;
  checkRange(text, { start, end: last, step }, bounds);
  return { start, end: last, step, any: star && step <= 1 };
}

function endsOf(ends: readonly string[], text: string, bounds: Bounds): readonly [number, number] {
  const start = namedOr(ends[0] ?? '', bounds);
  if (ends.length > 2) throw new ScheduleFault(`too many hyphens: ${text}`);
  return [start, ends[1] === undefined ? start : namedOr(ends[1], bounds)];
}

function checkRange(text: string, { start, end, step }: Omit<Range, 'any'>, { min, max }: Bounds): void {
  if (start < min) throw new ScheduleFault(`beginning of range (${start}) below minimum (${min}): ${text}`);
  if (end > max) throw new ScheduleFault(`end of range (${end}) above maximum (${max}): ${text}`);
  if (start > end)
    throw new ScheduleFault(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  if (step === 0) throw new ScheduleFault(`step of range should be a positive number: ${text}`);
}

const namedOr = (text: string, { names }: Bounds): number =>
  ownMember(names, text.toLowerCase()) ?? integer(text);

function integer(text: string): number {
  const fault = (why: string): ScheduleFault =>
    new ScheduleFault(`failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw fault('invalid syntax');
  if (BigInt(text.replace(/^\+/, '')) !== BigInt.asIntN(64, BigInt(text.replace(/^\+/, ''))))
    throw fault('value out of range');
  const value = Number(text);
  if (value < 0) throw new ScheduleFault(`negative number (${value}) not allowed: ${text}`);
  return value;
}
