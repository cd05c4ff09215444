/** A part of a time: its pattern, its name in the layout, and the valid range of its numbers. */
type Part = readonly [
  pattern: RegExp,
  element: string,
  range?: readonly [name: string, least: number, most: number],
];

const parts: readonly Part[] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d\d/, '01', ['month', 1, 12]],
  [/^-/, '-'],
  [/^\d\d/, '02'],
  [/^T/, 'T'],
  [/^\d\d?/, '15', ['hour', 0, 23]],
  [/^:/, ':'],
  [/^\d\d/, '04', ['minute', 0, 59]],
  [/^:/, ':'],
  [/^\d\d/, '05', ['second', 0, 59]],
];
const microseconds: Part = [/^\.\d{6}/, '.000000'];
const fraction = /^[.,]\d+/;

/**
 * Returns why a text is not a time, in the words of Go's `time.Parse`: the first part of the layout that does not match, or what is out of
 * range.
 *
 * @param isMicro true: the layout requires six fractional digits; false: any number is allowed
 */
export function timeFault(value: string, isMicro = false): string | undefined {
  const layout = `2006-01-02T15:04:05${isMicro ? '.000000' : ''}Z07:00`;
  const { rest, fault } = dateAndClock(value, layout, isMicro ? [...parts, microseconds] : parts);
  if (fault !== undefined) return fault;
  const behind = isMicro ? rest : rest.replace(fraction, '');
  const zone = /^(?:Z|[+-]\d\d:\d\d)/.exec(behind)?.[0];
  if (zone === undefined) return unread(value, layout, behind, 'Z07:00');
  return zoneFault(value, zone) ?? extraText(value, behind.slice(zone.length)) ?? dayFault(value);
}

function dateAndClock(
  value: string,
  layout: string,
  parts: readonly Part[],
): { readonly rest: string; readonly fault?: string } {
  let rest = value;
  for (const part of parts) {
    const found = part[0].exec(rest)?.[0];
    if (found === undefined) return { rest, fault: unread(value, layout, rest, part[1]) };
    if (!isInRange(found, part)) return { rest, fault: wrong(value, `${part[2]?.[0]} out of range`) };
    rest = rest.slice(found.length);
  }
  return { rest };
}

const isInRange = (found: string, [, , range]: Part): boolean =>
  range === undefined || (Number(found) >= range[1] && Number(found) <= range[2]);

const unread = (value: string, layout: string, rest: string, element: string): string =>
  `parsing time ${quoted(value)} as "${layout}": cannot parse ${quoted(rest)} as "${element}"`;

const wrong = (value: string, why: string): string => `parsing time ${quoted(value)}: ${why}`;

function zoneFault(value: string, zone: string): string | undefined {
  const [hours = 0, minutes = 0] = zone === 'Z' ? [] : zone.slice(1).split(':').map(Number);
  if (hours > 24) return wrong(value, 'time zone offset hour out of range');
  return minutes > 60 ? wrong(value, 'time zone offset minute out of range') : undefined;
}

const extraText = (value: string, rest: string): string | undefined =>
  rest === '' ? undefined : wrong(value, `extra text: ${quoted(rest)}`);

function dayFault(value: string): string | undefined {
  const [year = 0, month = 0, day = 0] = value.split(/[-T]/, 3).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return day < 1 || day > date.getUTCDate() ? wrong(value, 'day out of range') : undefined;
}

/** Quotes like Go's package `time`: non-ASCII bytes are escaped. */
const quoted = (text: string): string =>
  `"${[...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      if (char === '"' || char === '\\') return `\\${char}`;
      return byte >= 0x80 || byte < 0x20 ? `\\x${byte.toString(16).padStart(2, '0')}` : char;
    })
    .join('')}"`;

/** Parses a time like Go; ms since the epoch. @returns NaN when it is invalid */
export const instantOf = (value: string): number =>
  Date.parse(value.replace(',', '.').replace(/T(\d):/, 'T0$1:'));
