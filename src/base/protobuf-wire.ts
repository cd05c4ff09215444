import { AgentError } from './errors.ts';

/** The wire type of a field. */
export type WireType = 0 | 1 | 2 | 5;

const truncated = (): AgentError => new AgentError('internal', 'protobuf message ends inside a field');

/** WireReader reads the primitives of a protobuf message. @throws {AgentError} `internal` on malformed bytes */
export class WireReader {
  readonly #bytes: Buffer;
  /** The position of the next read. */
  at: number;
  /** The end of the current message. */
  end: number;

  constructor(bytes: Buffer, at = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** Reads an unsigned varint of 32 bits; higher bits are dropped. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new AgentError('internal', 'protobuf varint is longer than ten bytes');
  }

  /** Reads a varint of 64 bits, signed or unsigned, as the nearest number. */
  int64(signed: boolean): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= (bits & 1) << 31;
      if (byte < 0x80) return (signed ? high | 0 : high >>> 0) * 0x1_0000_0000 + (low >>> 0);
    }
    throw new AgentError('internal', 'protobuf varint is longer than ten bytes');
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  string(): string {
    const length = this.uint32();
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Reads bytes as a copy, so that a stored value does not keep the whole message in memory. */
  bytes(): Uint8Array {
    const length = this.uint32();
    const start = this.#advance(length);
    return new Uint8Array(this.#bytes.subarray(start, start + length));
  }

  /** Enters a length-delimited value and limits reading to it until `leave`. @returns the argument for `leave` */
  enter(): number {
    const outer = this.end;
    const length = this.uint32();
    const start = this.#advance(length);
    this.at = start;
    this.end = start + length;
    return outer;
  }

  /** Continues behind the entered value. */
  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** Skips a field with an unknown number. */
  skip(wireType: number): void {
    if (wireType === 0) this.uint32();
    else if (wireType === 1) this.#advance(8);
    else if (wireType === 2) this.#advance(this.uint32());
    else if (wireType === 5) this.#advance(4);
    else throw new AgentError('internal', `protobuf wire type ${wireType} is not known`);
  }

  #byte(): number {
    if (this.at >= this.end) throw truncated();
    return this.#bytes[this.at++] ?? 0;
  }

  #advance(length: number): number {
    const start = this.at;
    if (start + length > this.end) throw truncated();
    this.at = start + length;
    return start;
  }
}

/** The size of a varint of up to 32 bits, bytes. */
const sizeOf = (value: number): number => Math.max(1, Math.ceil((32 - Math.clz32(value)) / 7));

/** WireWriter writes the primitives of a protobuf message into a growing buffer. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(256);
  #at = 0;

  /** Returns a copy of the written bytes. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  tag(number: number, wireType: WireType): void {
    this.uint32((number << 3) | wireType);
  }

  uint32(value: number): void {
    this.#reserve(5);
    let rest = value >>> 0;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  /** Writes an integer; a negative one takes ten bytes, as two's complement of 64 bits. A fraction is dropped. */
  int64(value: number | bigint): void {
    if (value >= 0 && value <= 0xffff_ffff) {
      this.uint32(Number(value));
      return;
    }
    this.#reserve(10);
    let rest = BigInt.asUintN(64, typeof value === 'bigint' ? value : BigInt(Math.trunc(value)));
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#at++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.uint32(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** Writes the output of `write`, preceded by its length. */
  within(write: () => void): void {
    const start = this.#at;
    write();
    const length = this.#at - start;
    // the size of the length prefix is known only now
    const before = sizeOf(length);
    this.#reserve(before);
    this.#bytes.copyWithin(start + before, start, this.#at);
    this.#at = start;
    this.uint32(length);
    this.#at += length;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + more));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

/** Encodes a field with an integer of up to 64 bits. */
export function intField(number: number, value: number | bigint): Buffer {
  const writer = new WireWriter();
  writer.tag(number, 0);
  writer.int64(value);
  return writer.finish();
}

/** Encodes a field with text, bytes or a message. */
export function bytesField(number: number, value: Buffer | string): Buffer {
  const body = typeof value === 'string' ? Buffer.from(value) : value;
  const head = new WireWriter();
  head.tag(number, 2);
  head.uint32(body.length);
  return Buffer.concat([head.finish(), body]);
}

/** Encodes a field with a 64-bit floating-point number. */
export function doubleField(number: number, value: number): Buffer {
  const writer = new WireWriter();
  writer.tag(number, 1);
  writer.double(value);
  return writer.finish();
}

/** One undecoded field of a message: `value` for a varint, `bytes` for any other wire type. */
export interface WireField {
  readonly number: number;
  /** The value of a varint, signed, 64 bits. */
  readonly value: bigint;
  readonly bytes: Buffer;
}

/**
 * Returns all fields of a message of unknown type.
 *
 * @param fault makes the error to throw for malformed bytes
 */
export function wireFields(body: Buffer, fault: (message: string) => Error): WireField[] {
  const out: WireField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = body[at++];
      if (byte === undefined || shift > 63n) throw fault('unexpected EOF');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
      shift += 7n;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > body.length) throw fault('unexpected EOF');
    at += length;
    return body.subarray(at - length, at);
  };
  while (at < body.length) {
    const key = Number(varint());
    const wire = key & 7;
    const empty = { number: key >> 3, value: 0n, bytes: Buffer.alloc(0) };
    if (wire === 0) out.push({ ...empty, value: varint() });
    else if (wire === 2) out.push({ ...empty, bytes: take(Number(varint())) });
    else if (wire === 1 || wire === 5) out.push({ ...empty, bytes: take(wire === 1 ? 8 : 4) });
    else throw fault(`proto: illegal wireType ${wire}`);
  }
  return out;
}
