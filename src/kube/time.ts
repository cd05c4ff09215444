/** Formats a time (ms since the epoch) as `YYYY-MM-DDTHH:MM:SSZ`; fractions are truncated, as in the API. */
export function rfc3339(ms: number): string {
  const second = Math.floor(ms / 1000);
  const cached = texts.get(second);
  if (cached !== undefined) return cached;
  const text = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  if (texts.size === mostTexts) texts.clear();
  texts.set(second, text);
  return text;
}

/** Cache of formatted times: the same few occur again and again, such as the starts of pods in a burst, and the current time. */
const texts = new Map<number, string>();
const mostTexts = 256;

/** True for `YYYY-MM-DDTHH:MM:SSZ`, the only accepted form of 20 characters with that ending. */
const isCanonical = (text: string): boolean => text.length === 20 && text.endsWith('Z') && text[10] === 'T';

/** Go's zero time. */
export const zeroTime = '0001-01-01T00:00:00Z';

/** Truncates a timestamp to UTC seconds; `undefined` for none and Go's zero time. Text that is not a time is returned unchanged (R198). */
export function wholeSeconds(text: string | null | undefined): string | undefined {
  if (text == null || text === '' || text === zeroTime) return undefined;
  if (isCanonical(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : rfc3339(Math.floor(ms / 1000) * 1000);
}

/** Formats a time like `metav1.MicroTime`: `2026-03-04T05:06:07.123000Z`. */
export const microTimeText = (ms: number): string => new Date(ms).toISOString().replace(/Z$/, '000Z');
