/** Formats a time as RFC 3339 in seconds, like `metav1.Time`. */
export const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, -5)}Z`;

const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Returns the text of a `Time` field in UTC and whole seconds; `undefined` when it is not an RFC 3339 time. */
export function canonicalTime(text: string): string | undefined {
  const at = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : seconds(Math.floor(at / 1000) * 1000);
}

/** Returns the text of a `MicroTime` field in UTC with six digits; `undefined` when it is invalid. */
export function canonicalMicroTime(text: string): string | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [, whole = '', fraction = '', zone = ''] = match;
  if (fraction.length !== 7) return undefined;
  const at = Date.parse(`${whole}${zone}`);
  if (Number.isNaN(at)) return undefined;
  return `${new Date(at).toISOString().slice(0, 19)}.${fraction.slice(1, 7).padEnd(6, '0')}Z`;
}
