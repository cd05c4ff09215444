/** The stream that a log line came from, as the CRI log format writes it. */
export type LogStream = 'stdout' | 'stderr';

/** Longest content of one log line; a longer line of the container becomes several, all but the last marked `P` (partial). */
export const maxLineBytes = 16_384;

/** What one chunk of raw output became. */
export interface Converted {
  /** Whole lines in CRI log format: `RFC3339Nano stream F|P content`. */
  readonly log: Buffer;
  /** How many bytes of the chunk they hold; the rest is the beginning of a line that has not ended. */
  readonly consumed: number;
}

const newline = 0x0a;

/**
 * Turns raw output into CRI log lines. An unfinished line waits for its end, unless it is longer than {@link maxLineBytes} or
 * `final` says that nothing will follow; then it is written as partial.
 *
 * @param at instant of the lines, ms since the epoch
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
