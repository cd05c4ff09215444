/** One line of a log file: when and where it was written, and what. */
export interface LogLine {
  /** Whole seconds since the epoch and the nanoseconds beyond; compares exactly. */
  readonly seconds: number;
  readonly nanos: number;
  /** The zone in which it was written, `Z` or `+02:00`. */
  readonly zone: string;
  readonly stream: string;
  /** With its newline, unless the line goes on in the next entry. */
  readonly text: Buffer;
}

/** Reads one line; `undefined`: it is not of this format. */
export type ParseLine = (line: Buffer) => LogLine | undefined;

const space = 0x20;
const newline = 0x0a;

/** `<RFC 3339> <stdout|stderr> <tags> <text>`; the first tag `P` says that the line goes on. Follows `parseCRILog`. */
export const parseCriLine: ParseLine = (line) => {
  const [first, second] = [line.indexOf(space), line.indexOf(space, line.indexOf(space) + 1)];
  const third = second < 0 ? -1 : line.indexOf(space, second + 1);
  if (first < 0 || second <= first || third < 0) return undefined;
  const time = parseTime(line.toString('latin1', 0, first));
  const stream = line.toString('latin1', first + 1, second);
  if (!time || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  const [tag] = line.toString('latin1', second + 1, third).split(':');
  const end = tag === 'P' && line.at(-1) === newline ? line.length - 1 : line.length;
  return { ...time, stream, text: line.subarray(Math.min(third + 1, end), end) };
};

/** `{"log":"…\n","stream":"stdout","time":"…"}`, as Docker wrote it. Follows `parseDockerJSONLog`. */
export const parseDockerLine: ParseLine = (line) => {
  const entry = parseJson(line);
  if (!entry) return undefined;
  const [logs, streams, written] = [/^log$/iu, /^stream$/iu, /^time$/iu].map((name) => textsOf(entry, name));
  const times = written?.map(parseTime);
  if (!logs || !streams || !times || times.includes(undefined)) return undefined;
  const stream = streams.at(-1) ?? '';
  return { ...(times.at(-1) ?? zeroTime), stream, text: Buffer.from(logs.at(-1) ?? '') };
};

/** The first format that fits the line, which then holds for the file. */
export const formatOf = (line: Buffer): ParseLine | undefined =>
  [parseCriLine, parseDockerLine].find((parse) => parse(line) !== undefined);

type Time = Pick<LogLine, 'seconds' | 'nanos' | 'zone'>;

/** Go's zero time: before everything. */
const zeroTime: Time = { seconds: -62_135_596_800, nanos: 0, zone: 'Z' };

/** As Go reads it into a struct: `null` is an entry with nothing in it, a list is none. */
function parseJson(line: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    if (value === null) return {};
    return typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What a field is set to, in turn: its key counts in any case, and `null` sets nothing. `undefined`: not all of it is text. */
function textsOf(entry: object, name: RegExp): readonly string[] | undefined {
  const given = Object.entries(entry).filter(([key, value]) => name.test(key) && value !== null);
  const texts = given.map(([, value]: [string, unknown]) => value);
  return texts.every((text) => typeof text === 'string')
    ? texts.map((text) => text.toWellFormed())
    : undefined;
}

const rfc3339 = /^(\d{4}-\d\d-(\d\d))T(\d|[01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339 as Go reads it: with any number of fractional digits, of which nine count, and an hour of one digit. */
export function parseTime(text: string): Time | undefined {
  const [, date, day, hour = '', rest = '', fraction = '', written = ''] = rfc3339.exec(text) ?? [];
  const offset = offsetOf(written);
  if (date === undefined || offset === undefined) return undefined;
  const local = new Date(`${date}T${hour.padStart(2, '0')}${rest}Z`);
  if (Number.isNaN(local.getTime()) || local.getUTCDate() !== Number(day)) return undefined;
  return {
    seconds: local.getTime() / 1000 - offset,
    nanos: Number(fraction.slice(0, 9).padEnd(9, '0')),
    zone: zoneOf(offset),
  };
}

/** The time with nine fractional digits, in the zone in which it was written. */
export function formatTime({ seconds, nanos, zone }: Time): string {
  const local = new Date((seconds + (offsetOf(zone) ?? 0)) * 1000).toISOString().slice(0, 19);
  return `${local}.${String(nanos).padStart(9, '0')}${zone}`;
}

/** Seconds east of UTC; `undefined` for a zone that Go does not take. */
function offsetOf(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number);
  if (hours > 24 || minutes > 60) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}

function zoneOf(offset: number): string {
  if (offset === 0) return 'Z';
  const minutes = Math.abs(offset) / 60;
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${offset < 0 ? '-' : '+'}${hour}:${minute}`;
}

/** Whether a line was written before an instant. @param since ms since the epoch, fractions allowed */
export function isBefore({ seconds, nanos }: Time, since: number): boolean {
  const whole = Math.floor(since / 1000);
  const rest = Math.round((since - whole * 1000) * 1e6);
  return seconds < whole || (seconds === whole && nanos < rest);
}
