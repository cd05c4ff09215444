import { type BufferedReader, eof, lineTooLong, type Reading, unexpectedEof } from './buffered-reader.ts';
import { readMimeHeader } from './mime-header.ts';

/** What one read of a body gave; with a fault, nothing follows. */
export interface Piece {
  readonly bytes: Buffer;
  /** {@link eof} at the end of the body. */
  readonly fault?: Error | undefined;
}

/** A body: each call reads up to so many bytes. */
export type Body = (most: number) => Reading<Piece>;

const none = Buffer.alloc(0);

/** A body without a byte. */
export const emptyBody: Body = function* () {
  return { bytes: none, fault: eof };
};

/** A body that goes on until the connection ends. */
export const openBody = (reader: BufferedReader): Body =>
  function* (most) {
    try {
      return { bytes: yield* reader.read(most) };
    } catch (fault) {
      return { bytes: none, fault: fault as Error };
    }
  };

/** A body of so many bytes. */
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

/** Of a chunked body so many bytes may be spent on other things than its data, beyond what each chunk needs. */
const maxExcessBytes = 16 * 1024;
const freeBytesOfChunk = 16;
const longestChunkLine = 4096;

/** A body in chunks, with a trailer, which is read and left out. Follows Go `internal.chunkedReader`. */
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
  /** Of the chunk that is read, bytes. */
  #left = 0;
  #fault: Error | undefined;
  /** A chunk was read, but not its line end. */
  #atEnd = false;
  #excess = 0;

  constructor(reader: BufferedReader) {
    this.#reader = reader;
  }

  /** Goes on to further chunks only as far as they have arrived. */
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

/** What is left of the excess when a chunk comes with so many bytes of data, in 64 bits: absurd lengths go round. */
function excessAfter(excess: number, length: number): number {
  const free = BigInt(freeBytesOfChunk) + 2n * BigInt(length);
  return Math.max(0, Number(BigInt.asIntN(64, BigInt(excess) - free)));
}

/** The line before a chunk, without its end. */
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

/** The trailer behind the last chunk: {@link eof} when it is sound. */
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

/** Whether the end of a trailer is within reach of the buffer. */
function* seesEnd(reader: BufferedReader): Reading<boolean> {
  for (let size = 4; ; size++) {
    const { bytes, fault } = yield* reader.peek(size);
    if (bytes.subarray(-4).toString('latin1') === '\r\n\r\n') return true;
    if (fault) return false;
  }
}

/** The pieces in which Go's `io.ReadAll` reads, bytes: what lies beyond the last one that is needed is never looked at. */
const pieceSizes = [512, 256, 384, 576, 896, 1408, 2048, 3072, 4864];

/**
 * A body, or as much of it as was asked for. Follows `io.ReadAll` of an `io.LimitedReader`.
 *
 * @throws {Error} in Go's words, when the body breaks off before
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
