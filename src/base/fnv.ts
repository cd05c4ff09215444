/** 32-bit FNV-1a over the UTF-8 bytes of `text`. */
export function fnv1a32(text: string): number {
  const bytes = Buffer.from(text, 'utf8');
  let hash = 0x811c9dc5;
  // by index: an iterator or a call for each byte takes ten times as long, and the checkpoint of a large node has half a million
  let at = 0;
  while (at < bytes.length) hash = Math.imul(hash ^ (bytes[at++] ?? 0), 0x01000193);
  return hash >>> 0;
}
