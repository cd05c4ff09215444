/** An entry of a log file: time, stream and text. */
export interface LogLine {
  /** Whole seconds since the epoch; with `nanos`, compares exactly. */
  readonly seconds: number;
  readonly nanos: number;
  /** Time zone of the entry: `Z` or an offset such as `+02:00`. */
  readonly zone: string;
  readonly stream: string;
  /** Text with its newline, unless the line continues in the next entry. */
  readonly text: Buffer;
}

/** Parses an entry; `undefined` when it has another format. */
export type ParseLine = (line: Buffer) => LogLine | undefined;

const space = 0x20;
const newline = 0x0a;

/** Parses CRI's format `<RFC 3339> <stdout|stderr> <tags> <text>`; a first tag `P` means that the line continues. Follows `parseCRILog`. */
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

/**
 * Parses Docker's format `{"log":"…\n","stream":"stdout","time":"…"}`. Follows `parseDockerJSONLog`.
 */
export const parseDockerLine: ParseLine = (line) => {
  const entry = parseJson(line);
  if (!entry) return undefined;
  const [logs, streams, written] = [/^log$/iu, /^stream$/iu, /^time$/iu].map((name) => textsOf(entry, name));
  const times = written?.map(parseTime);
  if (!logs || !streams || !times || times.includes(undefined)) return undefined;
  const stream = streams.at(-1) ?? '';
  return { ...(times.at(-1) ?? zeroTime), stream, text: Buffer.from(logs.at(-1) ?? '') };
};

/** Returns the parser that fits the line; it is used for the whole file. */
export const formatOf = (line: Buffer): ParseLine | undefined =>
  [parseCriLine, parseDockerLine].find((parse) => parse(line) !== undefined);

type Time = Pick<LogLine, 'seconds' | 'nanos' | 'zone'>;

/** Go's zero time, before all others. */
const zeroTime: Time = { seconds: -62_135_596_800, nanos: 0, zone: 'Z' };

/** Parses JSON as Go does into a struct: `null` gives an empty entry, an array an error. */
function parseJson(line: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    if (value === null) return {};
    return typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the values of a field in order: keys match in any case, and `null` is skipped. `undefined` when a value is not a string. */
function textsOf(entry: object, name: RegExp): readonly string[] | undefined {
  const values = Object.entries(entry).filter(([key, value]) => name.test(key) && value !== null);
  const texts = values.map(([, value]: [string, unknown]) => value);
  return texts.every((text) => typeof text === 'string')
    ? texts.map((text) => text.toWellFormed())
    : undefined;
}

const rfc3339 = /^(\d{4}-\d\d-(\d\d))T(\d|[01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Parses an RFC 3339 time as Go does: any number of fractional digits, of which nine count, and an hour of one digit is accepted. */
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

/** Formats a time with nine fractional digits in its own zone. */
export function formatTime({ seconds, nanos, zone }: Time): string {
  const local = new Date((seconds + (offsetOf(zone) ?? 0)) * 1000).toISOString().slice(0, 19);
  return `${local}.${String(nanos).padStart(9, '0')}${zone}`;
}

/** Returns the offset of a zone in seconds east of UTC; `undefined` for a zone that Go rejects. */
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

/** True when an entry is older than `since`. @param since ms since the epoch, fractions allowed */
export function isBefore({ seconds, nanos }: Time, since: number): boolean {
  const whole = Math.floor(since / 1000);
  const rest = Math.round((since - whole * 1000) * 1e6);
  return seconds < whole || (seconds === whole && nanos < rest);
}
