/** `YYYY-MM-DDTHH:MM:SSZ` of an instant, ms since the epoch; the fraction is cut off, as the API does. */
export function rfc3339(ms: number): string {
  const second = Math.floor(ms / 1000);
  const known = texts.get(second);
  if (known !== undefined) return known;
  const text = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  if (texts.size === mostTexts) texts.clear();
  texts.set(second, text);
  return text;
}

/** The same few instants are written again and again: when pods and containers of a burst began, and now. */
const texts = new Map<number, string>();
const mostTexts = 256;

/** `YYYY-MM-DDTHH:MM:SSZ`: the only form of 20 characters that ends so. */
const isCanonical = (text: string): boolean => text.length === 20 && text.endsWith('Z') && text[10] === 'T';

/** What Go makes of a time that is not given. */
export const zeroTime = '0001-01-01T00:00:00Z';

/** R198: a timestamp in UTC with whole seconds; `undefined` for none and for Go's zero time. A text that is no time stays as it is. */
export function wholeSeconds(text: string | null | undefined): string | undefined {
  if (text == null || text === '' || text === zeroTime) return undefined;
  if (isCanonical(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : rfc3339(Math.floor(ms / 1000) * 1000);
}
