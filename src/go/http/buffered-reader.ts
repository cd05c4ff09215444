/** Thrown at the end of the peer's data. */
export const eof: Error = new Error('EOF');
/** Thrown when the peer's data ends within a message. */
export const unexpectedEof: Error = new Error('unexpected EOF');

/** Buffer size of Go's transport, bytes; it limits the line of a chunk and the trailer. */
const bufferBytes = 4096;
const unlimited = Infinity;

/**
 * A parser step: a generator that yields when it needs more bytes than have arrived, and throws the error that ended the connection. Thus
 * one parser serves any transport and fragmentation, without a promise per line.
 */
export type Reading<T> = Generator<undefined, T, undefined>;

/** Bytes of a `peek`, and the fault when there are fewer than requested. */
export interface Peeked {
  readonly bytes: Buffer;
  readonly fault?: Error;
}

/**
 * BufferedReader reads a peer's data exactly like Go's `bufio.Reader`, including its handling of errors, on which the message of a failed
 * probe depends. A reset is reported once; afterwards the stream is at its end.
 */
export class BufferedReader {
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  #read = 0;
  #write = 0;
  /** Received data that is not yet in the buffer. */
  readonly #arrived: Buffer[] = [];
  /** Why no more data arrives. */
  #end: Error | undefined;
  /** True when the fault is reported by every read: TLS errors persist, TCP errors do not. */
  #endStays = false;
  /** Fault met while filling the buffer; the next read reports it. */
  #fault: Error | undefined;
  /** Remaining number of bytes that may be read from the connection. */
  limit: number = unlimited;

  /** Adds bytes from the peer. */
  push(bytes: Buffer): void {
    if (bytes.length > 0) this.#arrived.push(bytes);
  }

  /** Ends the stream; the first reason counts. @param stays true when every read reports the fault, instead of the end */
  end(fault: Error, stays = false): void {
    this.#end ??= fault;
    this.#endStays = stays;
  }

  get buffered(): number {
    return this.#write - this.#read;
  }

  /** Returns the next `count` bytes without consuming them; fewer with the fault that prevents it. */
  *peek(count: number): Reading<Peeked> {
    while (this.buffered < count && this.buffered < bufferBytes && !this.#fault) yield* this.#fill();
    const bytes = this.#buffer.subarray(this.#read, Math.min(this.#write, this.#read + count));
    return bytes.length < count ? { bytes, fault: this.#takeFault() ?? bufferFull } : { bytes };
  }

  discard(count: number): void {
    this.#read += count;
  }

  /** Reads at most `most` bytes, at least one. */
  *read(most: number): Reading<Buffer> {
    if (!(yield* this.#hasBytes())) throw this.#takeFault() ?? eof;
    const bytes = Buffer.from(this.#buffer.subarray(this.#read, Math.min(this.#write, this.#read + most)));
    this.#read += bytes.length;
    return bytes;
  }

  /** Reads a line with its end, one byte per character. @throws {Error} {@link lineTooLong} when it does not fit the buffer */
  *readSlice(): Reading<string> {
    const { line, fault } = yield* this.#slice();
    if (fault === bufferFull) throw lineTooLong;
    if (fault) throw fault;
    return line;
  }

  /**
   * Reads a line of any length without its end, one byte per character; text before the end of the connection counts as a line.
   *
   * @param most maximum length, bytes; a longer line is an error
   */
  *readLine(most: number = unlimited): Reading<string> {
    let line = '';
    for (;;) {
      const part = yield* this.#slice();
      if (part.line === '' && part.fault) throw part.fault;
      const isPart = part.fault === bufferFull;
      // A CR LF may be split across two reads.
      if (isPart && part.line.endsWith('\r')) this.#read--;
      line += part.line.replace(isPart ? /\r$/ : /\r?\n$/, '');
      if (line.length > most) throw new Error('message too large');
      if (!isPart) return line;
    }
  }

  /** Skips blanks and tabs. @returns their number */
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

  /** True when the buffer contains a complete line. */
  hasLine(): boolean {
    return this.#buffer.subarray(this.#read, this.#write).includes(0x0a);
  }

  /** True when there are bytes, after one more read if necessary. */
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

  /** Reads once from the connection. */
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
/** Thrown for a line of a chunked body that does not fit the buffer. */
export const lineTooLong: Error = new Error('header line too long');
