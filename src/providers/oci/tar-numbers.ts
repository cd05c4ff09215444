/** The size of a block of a tar archive, bytes. */
export const blockBytes = 512;

/** Reads a number: octal digits, or binary with the highest bit set, as GNU has large ones. */
export function numberIn(block: Buffer, from: number, length: number, what: string): number {
  const first = block[from] ?? 0;
  if ((first & 0x80) !== 0) {
    let value = (first & 0x40) === 0 ? first & 0x3f : (first & 0x3f) - 0x40;
    for (let at = from + 1; at < from + length; at++) value = value * 256 + (block[at] ?? 0);
    return value;
  }
  const text = block
    .toString('latin1', from, from + length)
    .replace(/\0.*$/s, '')
    .trim();
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw new Error(`${what} in a header is no number: ${JSON.stringify(text)}`);
  return Number.parseInt(text, 8);
}
