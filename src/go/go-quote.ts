const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A text in double quotes as Go's `%q` writes it: printable characters stand for themselves. */
export function goQuote(text: string): string {
  return `"${Array.from(text, escape).join('')}"`;
}

/** What Go's `unicode.IsPrint` knows: letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  // V8 takes megabytes for what is a letter in any script, so that is only asked where it must be
  (character >= ' ' && character <= '~') || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);

function escape(character: string): string {
  const known = escapes[character];
  if (known !== undefined) return known;
  if (isPrintable(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}
