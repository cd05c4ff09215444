/** Encodes JSON like Go's encoder does a map: sorted keys, with `<`, `>`, `&` and the two line separators escaped. */
export const goJson = (value: unknown): string => escaped(sortedJson(value));

/**
 * Encodes JSON like Go's encoder does a struct: keys in insertion order, or those in `fields` in their order, with `<`, `>`, `&` and the
 * two line separators escaped.
 */
export const goStructJson = (value: unknown, fields?: readonly string[]): string =>
  escaped(JSON.stringify(value, fields && [...fields]));

const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Sorts keys by their text, also those that look like numbers, which a JavaScript object would put first. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => sortedJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${sortedJson(inner)}`);
  return `{${members.join(',')}}`;
}
