import { answerBytes, unreachable } from './transport.ts';

const newline = 0x0a;
/** Cuts a stream of bytes into lines, without ever holding more than the unfinished one. A line is a part of what came, or joined of parts. */
export class LineCutter {
  readonly #mostBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** @param mostBytes of a line: longer than any object that an API server stores */
  constructor(mostBytes: number = answerBytes) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that end in `chunk`. @throws {ApiError} status 0 on an endless line */
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

  /** The stream has ended. @throws {ApiError} status 0 when it was torn: there is a rest without a line end */
  end(): void {
    if (this.#heldBytes > 0) throw unreachable('the stream ended inside a watch event');
  }

  #whole(rest: Buffer): Buffer {
    if (this.#heldBytes === 0) return rest;
    this.#held.push(rest);
    const line = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return line;
  }

  #hold(rest: Buffer): void {
    this.#held.push(rest);
    this.#heldBytes += rest.length;
    if (this.#heldBytes > this.#mostBytes)
      throw unreachable(`a watch event is longer than ${this.#mostBytes} bytes; the watch was cut`);
  }
}
