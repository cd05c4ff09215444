/** What a reader throws at the end of what the peer sent. */
export const eof: Error = new Error('EOF');
/** What a reader throws when the peer stopped in the middle. */
export const unexpectedEof: Error = new Error('unexpected EOF');

/** How Go's transport buffers what it reads, bytes: the longest line of a chunk and the longest trailer follow from it. */
const bufferBytes = 4096;
const unlimited = Infinity;

/**
 * A step of a parser: a generator that yields whenever it needs more bytes than have arrived, and throws what ended the connection. So one
 * parser serves any transport and any cut of the bytes, without a promise for each line.
 */
export type Reading<T> = Generator<undefined, T, undefined>;

/** The bytes of one `peek`, and why there are fewer than wanted. */
export interface Peeked {
  readonly bytes: Buffer;
  readonly fault?: Error;
}

/**
 * What a peer sends, read as Go's `bufio.Reader` does, to the byte: also what it makes of errors, since the text of a probe's failure depends
 * on them. A reset is reported once and is the end of the stream from then on.
 */
export class BufferedReader {
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  #read = 0;
  #write = 0;
  /** Arrived, and not yet in the buffer. */
  readonly #arrived: Buffer[] = [];
  /** Why nothing more arrives. */
  #end: Error | undefined;
  /** Stays after it was reported: TLS remembers its faults, TCP does not. */
  #endStays = false;
  /** Met while filling the buffer, to be reported by what reads next. */
  #fault: Error | undefined;
  /** How many more bytes may be read from the connection. */
  limit: number = unlimited;

  /** More bytes from the peer. */
  push(bytes: Buffer): void {
    if (bytes.length > 0) this.#arrived.push(bytes);
  }

  /** Nothing more comes; the first reason counts. @param stays whether reading on meets the same fault again, rather than the end */
  end(fault: Error, stays = false): void {
    this.#end ??= fault;
    this.#endStays = stays;
  }

  get buffered(): number {
    return this.#write - this.#read;
  }

  /** The next `count` bytes, which stay unread; fewer with the fault that is in the way. */
  *peek(count: number): Reading<Peeked> {
    while (this.buffered < count && this.buffered < bufferBytes && !this.#fault) yield* this.#fill();
    const bytes = this.#buffer.subarray(this.#read, Math.min(this.#write, this.#read + count));
    return bytes.length < count ? { bytes, fault: this.#takeFault() ?? bufferFull } : { bytes };
  }

  discard(count: number): void {
    this.#read += count;
  }

  /** Up to `most` bytes, at least one. */
  *read(most: number): Reading<Buffer> {
    if (!(yield* this.#hasBytes())) throw this.#takeFault() ?? eof;
    const bytes = Buffer.from(this.#buffer.subarray(this.#read, Math.min(this.#write, this.#read + most)));
    this.#read += bytes.length;
    return bytes;
  }

  /** A line with its end, one character a byte. @throws {Error} {@link lineTooLong} when it does not fit the buffer */
  *readSlice(): Reading<string> {
    const { line, fault } = yield* this.#slice();
    if (fault === bufferFull) throw lineTooLong;
    if (fault) throw fault;
    return line;
  }

  /**
   * A line of any length without its end, one character a byte; what the connection broke off counts as a line.
   *
   * @param most bytes; a longer line is a fault
   */
  *readLine(most: number = unlimited): Reading<string> {
    let line = '';
    for (;;) {
      const part = yield* this.#slice();
      if (part.line === '' && part.fault) throw part.fault;
      const isPart = part.fault === bufferFull;
      // an end of two bytes may lie across the buffer's
      if (isPart && part.line.endsWith('\r')) this.#read--;
      line += part.line.replace(isPart ? /\r$/ : /\r?\n$/, '');
      if (line.length > most) throw new Error('message too large');
      if (!isPart) return line;
    }
  }

  /** Skips blanks and tabs. @returns how many there were */
  *skipBlanks(): Reading<number> {
    for (let count = 0; ; count++) {
      if (!(yield* this.#hasBytes())) {
        this.#takeFault();
        return count;
      }
      const byte = this.#buffer[this.#read];
      if (byte !== 0x20 && byte !== 0x09) return count;
      this.#read++;
    }
  }

  /** Whether a whole line is in the buffer. */
  hasLine(): boolean {
    return this.#buffer.subarray(this.#read, this.#write).includes(0x0a);
  }

  /** Whether there are bytes, after one more read if there were none. */
  *#hasBytes(): Reading<boolean> {
    if (this.#read === this.#write && !this.#fault) yield* this.#fill();
    return this.buffered > 0;
  }

  *#slice(): Reading<{ readonly line: string; readonly fault?: Error | undefined }> {
    for (let seen = 0; ;) {
      const end = this.#buffer.subarray(this.#read + seen, this.#write).indexOf(0x0a);
      if (end >= 0) return { line: this.#take(seen + end + 1) };
      if (this.#fault) return { line: this.#take(this.buffered), fault: this.#takeFault() };
      if (this.buffered >= bufferBytes) return { line: this.#take(bufferBytes), fault: bufferFull };
      seen = this.buffered;
      yield* this.#fill();
    }
  }

  #take(count: number): string {
    const text = this.#buffer.toString('latin1', this.#read, this.#read + count);
    this.#read += count;
    return text;
  }

  #takeFault(): Error | undefined {
    const fault = this.#fault;
    this.#fault = undefined;
    return fault;
  }

  /** One read from the connection. */
  *#fill(): Reading<void> {
    if (this.#read > 0) {
      this.#buffer.copyWithin(0, this.#read, this.#write);
      this.#write -= this.#read;
      this.#read = 0;
    }
    if (this.limit <= 0) {
      this.#fault = new Error('read limit exhausted');
      return;
    }
    while (this.#arrived.length === 0 && !this.#end) yield;
    const [bytes] = this.#arrived;
    if (bytes) this.#store(bytes);
    else {
      this.#fault = this.#end;
      if (!this.#endStays) this.#end = eof;
    }
  }

  #store(bytes: Buffer): void {
    const count = Math.min(bytes.length, bufferBytes - this.#write, this.limit);
    bytes.copy(this.#buffer, this.#write, 0, count);
    this.#write += count;
    this.limit -= count;
    if (count < bytes.length) this.#arrived[0] = bytes.subarray(count);
    else this.#arrived.shift();
  }
}

const bufferFull = new Error('bufio: buffer full');
/** A line of a chunked body that does not fit the buffer. */
export const lineTooLong: Error = new Error('header line too long');
