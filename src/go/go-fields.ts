/** Splits a text at white space like Go's `strings.Fields`: U+0085 is white space, U+FEFF is not. */
export const goFields = (text: string): readonly string[] => text.match(word) ?? [];

const word = /[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
