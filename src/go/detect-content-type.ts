/** Number of bytes that detection uses. */
export const sniffedBytes = 512;

/** A signature: the first bytes of a body, with `?` for any byte. */
type Pattern = readonly [type: string, bytes: readonly (number | '?')[]];

const bytesOf = (text: string): number[] => [...Buffer.from(text, 'latin1')];

/** Converts text to a signature in which `?` matches any byte. */
const masked = (text: string): readonly (number | '?')[] =>
  bytesOf(text).map((byte) => (byte === 0x3f ? '?' : byte));

const htmlTags = [
  '<!DOCTYPE HTML',
  ...['HTML', 'HEAD', 'SCRIPT', 'IFRAME', 'H1', 'DIV', 'FONT', 'TABLE', 'A', 'STYLE', 'TITLE'].map(
    (tag) => `<${tag}`,
  ),
  ...['<B', '<BODY', '<BR', '<P', '<!--'],
];

/** Signatures in the order in which they are tried. */
const patterns: readonly Pattern[] = [
  ['application/pdf', bytesOf('%PDF-')],
  ['application/postscript', bytesOf('%!PS-Adobe-')],
  ['text/plain; charset=utf-16be', [0xfe, 0xff, '?', '?']],
  ['text/plain; charset=utf-16le', [0xff, 0xfe, '?', '?']],
  ['text/plain; charset=utf-8', [0xef, 0xbb, 0xbf, '?']],
  ['image/x-icon', [0, 0, 1, 0]],
  ['image/x-icon', [0, 0, 2, 0]],
  ['image/bmp', bytesOf('BM')],
  ['image/gif', bytesOf('GIF87a')],
  ['image/gif', bytesOf('GIF89a')],
  ['image/webp', masked('RIFF????WEBPVP')],
  ['image/png', bytesOf('\x89PNG\r\n\x1a\n')],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['audio/aiff', masked('FORM????AIFF')],
  ['audio/mpeg', bytesOf('ID3')],
  ['application/ogg', bytesOf('OggS\0')],
  ['audio/midi', bytesOf('MThd\0\0\0\x06')],
  ['video/avi', masked('RIFF????AVI ')],
  ['audio/wave', masked('RIFF????WAVE')],
];

/** Signatures that are tried after MP4. */
const morePatterns: readonly Pattern[] = [
  ['video/webm', [0x1a, 0x45, 0xdf, 0xa3]],
  ['application/vnd.ms-fontobject', masked(`${'?'.repeat(34)}LP`)],
  ['font/ttf', [0, 1, 0, 0]],
  ['font/otf', bytesOf('OTTO')],
  ['font/collection', bytesOf('ttcf')],
  ['font/woff', bytesOf('wOFF')],
  ['font/woff2', bytesOf('wOF2')],
  ['application/x-gzip', [0x1f, 0x8b, 0x08]],
  ['application/zip', bytesOf('PK\x03\x04')],
  ['application/x-rar-compressed', bytesOf('Rar!\x1a\x07\0')],
  ['application/x-rar-compressed', bytesOf('Rar!\x1a\x07\x01\0')],
  ['application/wasm', bytesOf('\0asm')],
];

const fits = (data: Buffer, bytes: Pattern[1]): boolean =>
  data.length >= bytes.length && bytes.every((byte, at) => byte === '?' || data[at] === byte);

const typeIn = (list: readonly Pattern[], data: Buffer): string | undefined =>
  list.find(([, bytes]) => fits(data, bytes))?.[0];

/** True when the data begins with an HTML tag, in any case, followed by a tag-terminating byte. */
function isHtml(data: Buffer): boolean {
  const text = data.subarray(0, 32).toString('latin1').toUpperCase();
  return htmlTags.some((tag) => text.startsWith(tag) && ' >'.includes(text[tag.length] ?? '?'));
}

/** True for an `ftyp` box with a brand that begins with `mp4`; the major brand's version is not a brand. */
function isMp4(data: Buffer): boolean {
  if (data.length < 12 || data.toString('latin1', 4, 8) !== 'ftyp') return false;
  const size = data.readUInt32BE(0);
  if (data.length < size || size % 4 !== 0) return false;
  for (let at = 8; at < size; at += 4)
    if (at !== 12 && data.toString('latin1', at, at + 3) === 'mp4') return true;
  return false;
}

/** True for bytes that occur only in binary data. */
const isBinary = (byte: number): boolean =>
  byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);

const isBlank = (byte: number): boolean => [0x09, 0x0a, 0x0c, 0x0d, 0x20].includes(byte);

/**
 * Detects the media type from the first bytes of a body like Go's `http.DetectContentType`, which Go's servers use for responses without a
 * type. Implements the MIME Sniffing Standard, <https://mimesniff.spec.whatwg.org/>.
 */
export function detectContentType(beginning: Buffer): string {
  const data = beginning.subarray(0, sniffedBytes);
  const first = data.findIndex((byte) => !isBlank(byte));
  const rest = first < 0 ? data.subarray(data.length) : data.subarray(first);
  if (isHtml(rest)) return 'text/html; charset=utf-8';
  if (fits(rest, bytesOf('<?xml'))) return 'text/xml; charset=utf-8';
  const found = typeIn(patterns, data) ?? (isMp4(data) ? 'video/mp4' : typeIn(morePatterns, data));
  return found ?? (rest.some(isBinary) ? 'application/octet-stream' : 'text/plain; charset=utf-8');
}
