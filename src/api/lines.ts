import { unreachable } from './transport.ts';

const newline = 0x0a;
/** Longer than any object that an API server stores; a line beyond it is not one. */
const maxLineBytes = 64 * 1024 * 1024;

/**
 * Cuts a stream of bytes into lines of text, all those of one chunk at a time, without ever holding more than the unfinished one.
 * A rest without a line end at the end of the stream is a torn line.
 *
 * @throws {ApiError} status 0 on a torn or an endless line
 */
export async function* splitLines(body: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of body) {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (heldBytes === 0) {
        lines.push(chunk.toString('utf8', start, end));
      } else {
        held.push(chunk.subarray(start, end));
        lines.push(Buffer.concat(held).toString());
        held = [];
        heldBytes = 0;
      }
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    if (start === chunk.length) continue;
    held.push(start === 0 ? chunk : chunk.subarray(start));
    heldBytes += chunk.length - start;
    if (heldBytes > maxLineBytes) throw unreachable(`a watch event is longer than ${maxLineBytes} bytes`);
  }
  if (heldBytes > 0) throw unreachable('the stream ended inside a watch event');
}
