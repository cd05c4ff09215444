/** Bytes as Go writes them in a URL: those that `plain` matches as they are. */
export const escapeBytes = (bytes: Buffer, plain: RegExp): string =>
  [...bytes]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return plain.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/** The bytes that a text with escapes stands for. */
export const unescapedBytes = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(/(%[0-9A-Fa-f]{2})/)
      .map((part) =>
        /^%[0-9A-Fa-f]{2}$/.test(part) ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part),
      ),
  );
