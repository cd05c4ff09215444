import { answerBytes, unreachable } from './transport.ts';

const newline = 0x0a;
/**
 * LineCutter splits a stream of bytes into lines and buffers only the unfinished one. A line is a part of the input, or joined from
 * parts.
 */
export class LineCutter {
  readonly #mostBytes: number;
  #chunks: Buffer[] = [];
  #heldBytes = 0;

  /** @param mostBytes maximum length of a line: longer than any object that an API server stores */
  constructor(mostBytes: number = answerBytes) {
    this.#mostBytes = mostBytes;
  }

  /** Returns the lines that end in `chunk`. @throws {ApiError} status 0 on an endless line */
  cut(chunk: Buffer): readonly Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      lines.push(this.#whole(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(start === 0 ? chunk : chunk.subarray(start));
    return lines;
  }

  /** Handles the end of the stream. @throws {ApiError} status 0 when it ended within a line */
  end(): void {
    if (this.#heldBytes > 0) throw unreachable('the stream ended inside a watch event');
  }

  #whole(rest: Buffer): Buffer {
    if (this.#heldBytes === 0) return rest;
    this.#chunks.push(rest);
    const line = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#heldBytes = 0;
    return line;
  }

  #hold(rest: Buffer): void {
    this.#chunks.push(rest);
    this.#heldBytes += rest.length;
    if (this.#heldBytes > this.#mostBytes)
      throw unreachable(`a watch event is longer than ${this.#mostBytes} bytes; the watch was cut`);
  }
}
