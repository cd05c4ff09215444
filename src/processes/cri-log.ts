/** Output stream of a log line, as in the CRI log format. */
export type LogStream = 'stdout' | 'stderr';

/** Maximum content of a log line, bytes; longer lines are split, with all parts but the last marked `P` (partial). */
export const maxLineBytes = 16_384;

/** The result of converting a chunk of raw output. */
export interface Converted {
  /** Complete lines in the CRI log format: `RFC3339Nano stream F|P content`. */
  readonly log: Buffer;
  /** Number of converted bytes of the chunk; the rest is the start of an incomplete line. */
  readonly consumed: number;
}

const newline = 0x0a;

/**
 * Converts raw output to CRI log lines. An incomplete line waits for its end, unless it is longer than {@link maxLineBytes} or
 * `final` is true; then it is written as partial.
 *
 * @param at time of the lines, ms since the epoch
 */
export function convertOutput(chunk: Buffer, stream: LogStream, at: number, final: boolean): Converted {
  const head = `${new Date(at).toISOString()} ${stream}`;
  const full = Buffer.from(`${head} F `);
  const partial = Buffer.from(`${head} P `);
  const end = Buffer.from('\n');
  const parts: Buffer[] = [];
  let from = 0;
  while (from < chunk.length) {
    const stop = chunk.indexOf(newline, from);
    const lineEnd = stop < 0 ? chunk.length : stop;
    if (lineEnd - from > maxLineBytes) {
      parts.push(partial, chunk.subarray(from, from + maxLineBytes), end);
      from += maxLineBytes;
    } else if (stop >= 0) {
      parts.push(full, chunk.subarray(from, stop), end);
      from = stop + 1;
    } else if (final || lineEnd - from === maxLineBytes) {
      parts.push(partial, chunk.subarray(from, lineEnd), end);
      from = lineEnd;
    } else break;
  }
  return { log: Buffer.concat(parts), consumed: from };
}
