/** The frame types of SPDY/3.1 that are used here. */
export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const flagFin = 1;

/** Reset codes of a stream. */
export const resetStatus = { protocolError: 1, refused: 3, cancel: 5 } as const;

/** One parsed frame. */
export type Frame =
  | { readonly kind: 'data'; readonly streamId: number; readonly fin: boolean; readonly data: Buffer }
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly body: Buffer };

/** An invalid frame, which closes the connection. */
export class ProtocolError extends Error {
  override readonly name: string = 'ProtocolError';
}

/** Longest accepted data frame; clients send 32 KiB. */
const longestData = 1024 * 1024;
/** Longest accepted control frame. */
const longestControl = 64 * 1024;
const headBytes = 8;

/** FrameReader splits a byte stream into frames. It buffers at most one unfinished frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** Returns the next complete frame; undefined when more bytes are needed. @throws {ProtocolError} */
  next(): Frame | undefined {
    if (this.#bytes < headBytes) return undefined;
    const head = this.#peek(headBytes);
    const length = head.readUIntBE(5, 3);
    const control = ((head[0] ?? 0) & 0x80) !== 0;
    if (control && (head.readUInt16BE(0) & 0x7fff) !== 3) throw new ProtocolError('not SPDY/3');
    if (length > (control ? longestControl : longestData))
      throw new ProtocolError(`a frame of ${length} bytes is too long`);
    if (this.#bytes < headBytes + length) return undefined;
    const body = this.#take(headBytes + length).subarray(headBytes);
    const flags = head[4] ?? 0;
    if (control) return { kind: 'control', type: head.readUInt16BE(2), flags, body };
    const streamId = head.readUInt32BE(0) & 0x7fffffff;
    return { kind: 'data', streamId, fin: (flags & flagFin) !== 0, data: body };
  }

  #peek(count: number): Buffer {
    const [first] = this.#chunks;
    if (first && first.length >= count) return first;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }

  #take(count: number): Buffer {
    const whole = this.#peek(count);
    const part = whole.subarray(0, count);
    if (whole.length === count) this.#chunks.shift();
    else this.#chunks[0] = whole.subarray(count);
    this.#bytes -= count;
    return part;
  }
}

export function controlFrame(type: number, flags: number, body: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt16BE(0x8003, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(body.length, 4);
  head[4] = flags;
  return Buffer.concat([head, body]);
}

/** Returns the head of a data frame; its bytes follow unchanged. */
export function dataHead(streamId: number, length: number, fin: boolean): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(length, 4);
  head[4] = fin ? flagFin : 0;
  return head;
}

const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32BE(value >>> 0, 4 * i));
  return bytes;
};

export const synStream = (streamId: number, block: Buffer): Buffer =>
  controlFrame(frameType.synStream, 0, Buffer.concat([words(streamId, 0), Buffer.alloc(2), block]));
export const synReply = (streamId: number, block: Buffer): Buffer =>
  controlFrame(frameType.synReply, 0, Buffer.concat([words(streamId), block]));
export const rstStream = (streamId: number, status: number): Buffer =>
  controlFrame(frameType.rstStream, 0, words(streamId, status));
export const goAway = (lastStreamId: number): Buffer =>
  controlFrame(frameType.goAway, 0, words(lastStreamId, 0));
