/** 32-bit FNV-1a over the UTF-8 bytes of `text`. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  Buffer.from(text, 'utf8').forEach((byte) => {
    hash = Math.imul(hash ^ byte, 0x01000193);
  });
  return hash >>> 0;
}
