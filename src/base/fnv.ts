/** 32-bit FNV-1a over the UTF-8 bytes of `text`. */
export function fnv1a32(text: string): number {
  const bytes = Buffer.from(text, 'utf8');
  let hash = 0x811c9dc5;
  // by index: an iterator or a call per byte takes ten times as long, and the checkpoint of a large node has half a million bytes
  let at = 0;
  while (at < bytes.length) hash = Math.imul(hash ^ (bytes[at++] ?? 0), 0x01000193);
  return hash >>> 0;
}

const offset = 0x6c62272e07bb014262b821756295c58dn;

const prime = 0x0000000001000000000000000000013bn;

const mask = (1n << 128n) - 1n;

/** FNV-1a of 128 bits over UTF-8, as 32 hex digits. */
export function fnv128a(text: string): string {
  let hash = offset;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * prime) & mask;
  return hash.toString(16).padStart(32, '0');
}
