import type { ContainerRef } from './refs.ts';

/** Options of a log read, after kubelet `v1.PodLogOptions`. */
export interface LogOptions {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** ms since the epoch */
  readonly sinceTime?: number;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
  readonly stream?: 'All' | 'Stdout' | 'Stderr';
}

/** Receives the bytes of a log as the client gets them. The writer waits for a returned promise before it continues. */
export type LogSink = (bytes: Buffer) => Promise<void> | void;

/** Access to container logs, wherever the provider stores them. */
export interface ProviderLogs {
  /**
   * Writes the part of one container instance's log that `options` select to `sink`, and resolves at its end; with `follow`, when the
   * container has ended or `signal` aborts.
   *
   * `sink` receives plain text, not the format in which the log is stored: with `timestamps` each line begins with an RFC 3339 time and a
   * space. {@link writeLog} applies all options to lines. `container.id` names the instance; for `previous` it is already the previous one.
   *
   * @throws {AgentError} `not_found` when this instance has no log; the client sees the message
   */
  readLogs?(container: ContainerRef, options: LogOptions, sink: LogSink, signal: AbortSignal): Promise<void>;
}

/** One line of a log, with or without the newline at its end. */
export interface LogEntry {
  /** When the line was written, ms since the epoch. A line without a time always counts as newer than `sinceTime`. */
  readonly at?: number;
  /** Default `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  readonly text: string;
}

/** The inputs of {@link writeLog} besides the lines. */
export interface WriteLogDeps {
  /** ms since the epoch, for `sinceSeconds`. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Writes the lines that `options` select to a sink: by stream, `sinceTime` or `sinceSeconds`, `tailLines`, `timestamps` and `limitBytes`.
 * For providers whose logs are lines rather than files. With `tailLines` the lines are collected until the source ends, unless `follow` is
 * set: `lines` must then begin with the tail.
 *
 * @example
 * readLogs(container, options, sink, signal) {
 *   return writeLog(this.linesOf(container.podUid), options, sink, { now: clock.now(), signal });
 * }
 */
export async function writeLog(
  lines: AsyncIterable<LogEntry> | Iterable<LogEntry>,
  options: LogOptions,
  sink: LogSink,
  { now, signal }: WriteLogDeps,
): Promise<void> {
  const writer = new EntryWriter(options, sink);
  const isSelected = selectionOf(options, now);
  const { tailLines = -1, follow = false } = options;
  const isTail = tailLines >= 0 && !follow;
  const tail: LogEntry[] = [];
  for await (const entry of lines) {
    if (signal.aborted) return;
    if (!isSelected(entry)) continue;
    if (isTail) {
      tail.push(entry);
      if (tail.length > tailLines) tail.shift();
    } else if (!(await writer.write(entry))) return;
  }
  for (const entry of tail) if (!(await writer.write(entry))) return;
}

function selectionOf(options: LogOptions, now: number): (entry: LogEntry) => boolean {
  const { stream = 'All', sinceSeconds } = options;
  const since = sinceSeconds === undefined ? options.sinceTime : now - sinceSeconds * 1000;
  const only = stream === 'All' ? undefined : stream.toLowerCase();
  return ({ at, stream: from = 'stdout' }) =>
    (only === undefined || from === only) && (since === undefined || at === undefined || at >= since);
}

class EntryWriter {
  readonly #sink: LogSink;
  readonly #timestamps: boolean;
  #bytesLeft: number;

  constructor({ timestamps = false, limitBytes }: LogOptions, sink: LogSink) {
    this.#sink = sink;
    this.#timestamps = timestamps;
    this.#bytesLeft = limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Writes one line. Returns false when the limit is reached. */
  async write({ at, text }: LogEntry): Promise<boolean> {
    const stamp = this.#timestamps ? `${new Date(at ?? 0).toISOString()} ` : '';
    const whole = Buffer.from(`${stamp}${text}${text.endsWith('\n') ? '' : '\n'}`);
    const bytes = whole.length > this.#bytesLeft ? whole.subarray(0, this.#bytesLeft) : whole;
    if (bytes.length > 0) await this.#sink(bytes);
    this.#bytesLeft -= bytes.length;
    return this.#bytesLeft > 0;
  }
}
