/** The part of ASN.1 DER that certificates and signing requests need. */

export function der(tag: number, ...parts: readonly (Uint8Array | readonly Uint8Array[])[]): Buffer {
  const body = Buffer.concat(parts.flatMap((part) => (part instanceof Uint8Array ? [part] : [...part])));
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
export const setOf = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
export const integer = (bytes: Uint8Array): Buffer =>
  der(0x02, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
export const octets = (body: Uint8Array): Buffer => der(0x04, body);
export const bits = (body: Uint8Array, unused = 0): Buffer => der(0x03, Buffer.from([unused]), body);
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const truth = (): Buffer => der(0x01, Buffer.from([0xff]));
/** Encodes a context tag `[n]`, constructed or primitive. */
export const tagged = (n: number, body: Uint8Array, constructed = true): Buffer =>
  der((constructed ? 0xa0 : 0x80) | n, body);

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let more = part >> 7; more > 0; more >>= 7) groups.unshift((more & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

/** Encodes a time of a certificate: UTCTime before 2050, GeneralizedTime after. */
export function certificateTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return ms < Date.UTC(2050, 0) ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

/** A parsed DER element. */
export interface Element {
  readonly tag: number;
  readonly body: Buffer;
  /** The encoded element: tag, length and body. */
  readonly whole: Buffer;
}

/** Parses consecutive elements. @throws {Error} when the bytes are not DER */
export function elements(bytes: Buffer): Element[] {
  const out: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const start = at;
    const tag = bytes[at++] ?? 0;
    let length = bytes[at++] ?? 0;
    if (length & 0x80) {
      const size = length & 0x7f;
      if (size === 0 || size > 4 || at + size > bytes.length) throw new Error('not DER');
      length = bytes.readUIntBE(at, size);
      at += size;
    }
    if (at + length > bytes.length) throw new Error('not DER');
    out.push({ tag, body: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) });
    at += length;
  }
  return out;
}

/** Returns the dotted form of an object identifier's body. */
export function oidText(body: Buffer): string {
  const parts: number[] = [];
  let value = 0;
  for (const byte of body) {
    value = value * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    if (parts.length === 0)
      parts.push(Math.min(2, Math.floor(value / 40)), value - 40 * Math.min(2, Math.floor(value / 40)));
    else parts.push(value);
    value = 0;
  }
  return parts.join('.');
}
