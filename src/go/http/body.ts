import { type BufferedReader, eof, lineTooLong, type Reading, unexpectedEof } from './buffered-reader.ts';
import { readMimeHeader } from './mime-header.ts';

/** Result of one read from a body; after a fault nothing follows. */
export interface Piece {
  readonly bytes: Buffer;
  /** {@link eof} at the end of the body. */
  readonly fault?: Error | undefined;
}

/** A body: each call reads at most `most` bytes. */
export type Body = (most: number) => Reading<Piece>;

const none = Buffer.alloc(0);

/** An empty body. */
export const emptyBody: Body = function* () {
  return { bytes: none, fault: eof };
};

/** Returns a body that ends with the connection. */
export const openBody = (reader: BufferedReader): Body =>
  function* (most) {
    try {
      return { bytes: yield* reader.read(most) };
    } catch (fault) {
      return { bytes: none, fault: fault as Error };
    }
  };

/** Returns a body of a fixed length. */
export function limitedBody(reader: BufferedReader, length: number): Body {
  let left = length;
  const read = openBody(reader);
  return function* (most) {
    if (left === 0) return { bytes: none, fault: eof };
    const { bytes, fault } = yield* read(Math.min(most, left));
    left -= bytes.length;
    if (fault) return { bytes, fault: fault === eof ? unexpectedEof : fault };
    return { bytes, fault: left === 0 ? eof : undefined };
  };
}

/** Maximum overhead of a chunked body, bytes, beyond what each chunk needs. */
const maxExcessBytes = 16 * 1024;
const freeBytesOfChunk = 16;
const longestChunkLine = 4096;

/** Returns a chunked body; its trailer is read and dropped. Follows Go `internal.chunkedReader`. */
export function chunkedBody(reader: BufferedReader): Body {
  const chunks = new ChunkedReader(reader);
  let end: Error | undefined;
  return function* (most) {
    if (end) return { bytes: none, fault: end };
    const { bytes, fault } = yield* chunks.read(most);
    if (fault) end = fault === eof ? yield* trailerFault(reader) : fault;
    return { bytes, fault: end };
  };
}

class ChunkedReader {
  readonly #reader: BufferedReader;
  /** Remaining bytes of the current chunk. */
  #left = 0;
  #fault: Error | undefined;
  /** True when a chunk was read, but not its line end. */
  #atEnd = false;
  #excess = 0;

  constructor(reader: BufferedReader) {
    this.#reader = reader;
  }

  /** Continues with further chunks only when they have already arrived. */
  *read(most: number): Reading<Piece> {
    const parts: Buffer[] = [];
    let room = most;
    while (!this.#fault) {
      const some = parts.length > 0;
      if (this.#atEnd) {
        if (some && this.#reader.buffered < 2) break;
        yield* this.#readEnd();
        continue;
      }
      if (this.#left === 0) {
        if (some && !this.#reader.hasLine()) break;
        yield* this.#begin();
        continue;
      }
      if (room === 0) break;
      room -= yield* this.#readData(room, parts);
    }
    return { bytes: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts), fault: this.#fault };
  }

  *#readEnd(): Reading<void> {
    const { bytes, fault } = yield* this.#reader.peek(2);
    if (fault) this.#fault = fault === eof ? unexpectedEof : fault;
    else if (bytes.toString('latin1') !== '\r\n') this.#fault = new Error('malformed chunked encoding');
    this.#reader.discard(bytes.length);
    this.#atEnd = false;
  }

  *#readData(room: number, parts: Buffer[]): Reading<number> {
    try {
      const bytes = yield* this.#reader.read(Math.min(room, this.#left));
      parts.push(bytes);
      this.#left -= bytes.length;
      this.#atEnd = this.#left === 0;
      return bytes.length;
    } catch (fault) {
      this.#fault = fault === eof ? unexpectedEof : (fault as Error);
      return 0;
    }
  }

  *#begin(): Reading<void> {
    try {
      const line = yield* chunkLine(this.#reader);
      this.#left = chunkLength(line.replace(/[ \t]+$/, '').split(';', 1)[0] ?? '');
      this.#excess = excessAfter(this.#excess + line.length + 2, this.#left);
      if (this.#excess > maxExcessBytes)
        this.#fault = new Error('chunked encoding contains too much non-data');
      if (this.#left === 0) this.#fault = eof;
    } catch (fault) {
      this.#fault = fault as Error;
    }
  }
}

/** Returns the remaining overhead after a chunk of `length` bytes, in 64-bit arithmetic, where huge lengths wrap around. */
function excessAfter(excess: number, length: number): number {
  const free = BigInt(freeBytesOfChunk) + 2n * BigInt(length);
  return Math.max(0, Number(BigInt.asIntN(64, BigInt(excess) - free)));
}

/** Reads the line before a chunk, without its end. */
function* chunkLine(reader: BufferedReader): Reading<string> {
  let line: string;
  try {
    line = yield* reader.readSlice();
  } catch (fault) {
    throw fault === eof ? unexpectedEof : fault;
  }
  const end = line.indexOf('\r');
  if (end < 0) throw new Error('chunked line ends with bare LF');
  if (end !== line.length - 2) throw new Error('invalid CR in chunked line');
  if (end >= longestChunkLine) throw lineTooLong;
  return line.slice(0, end);
}

function chunkLength(digits: string): number {
  if (digits === '') throw new Error('empty hex number for chunk length');
  const bad = digits.search(/[^0-9A-Fa-f]/);
  if (bad >= 0 && bad <= 16) throw new Error('invalid byte in chunk length');
  if (digits.length > 16) throw new Error('http chunk length too large');
  return parseInt(digits, 16);
}

/** Reads the trailer after the last chunk; returns {@link eof} when it is valid. */
function* trailerFault(reader: BufferedReader): Reading<Error> {
  const { bytes, fault } = yield* reader.peek(2);
  if (bytes.toString('latin1') === '\r\n') {
    reader.discard(2);
    return eof;
  }
  if (bytes.length < 2) return trailerEnded;
  if (fault) return fault;
  if (!(yield* seesEnd(reader))) return new Error('http: suspiciously long trailer after chunked body');
  try {
    yield* readMimeHeader(reader);
    return eof;
  } catch (reason) {
    return reason === eof ? trailerEnded : (reason as Error);
  }
}

const trailerEnded = new Error('http: unexpected EOF reading trailer');

/** True when the end of the trailer fits in the buffer. */
function* seesEnd(reader: BufferedReader): Reading<boolean> {
  for (let size = 4; ; size++) {
    const { bytes, fault } = yield* reader.peek(size);
    if (bytes.subarray(-4).toString('latin1') === '\r\n\r\n') return true;
    if (fault) return false;
  }
}

/** Read sizes of Go's `io.ReadAll`, bytes: data beyond the last read that is needed is never inspected. */
const pieceSizes = [512, 256, 384, 576, 896, 1408, 2048, 3072, 4864];

/**
 * Reads a body, at most `most` bytes. Follows `io.ReadAll` of an `io.LimitedReader`.
 *
 * @throws {Error} in Go's words, when the body ends early
 */
export function* readAtMost(body: Body, most: number): Reading<Buffer> {
  const pieces: Buffer[] = [];
  let left = most;
  let [step, size, used] = [0, pieceSizes[0] ?? 0, 0];
  while (left > 0) {
    const { bytes, fault } = yield* body(Math.min(left, size - used));
    if (bytes.length > 0) pieces.push(bytes);
    left -= bytes.length;
    used += bytes.length;
    if (fault === eof) break;
    if (fault) throw fault;
    if (size - used < Math.floor(size / 16)) [step, size, used] = [step + 1, pieceSizes[step + 1] ?? most, 0];
  }
  return Buffer.concat(pieces);
}
