/** `YYYY-MM-DDTHH:MM:SSZ` of an instant, ms since the epoch; the fraction is cut off, as the API does. */
export const rfc3339 = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const zero = '0001-01-01T00:00:00Z';

/** R198: a timestamp in UTC with whole seconds; `undefined` for none and for Go's zero time. A text that is no time stays as it is. */
export function wholeSeconds(text: string | null | undefined): string | undefined {
  if (text == null || text === '' || text === zero) return undefined;
  if (canonical.test(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : rfc3339(Math.floor(ms / 1000) * 1000);
}
