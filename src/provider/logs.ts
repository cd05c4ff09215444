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

/** Takes the bytes of a log as the client receives them; a promise holds the writer back until it settles. */
export type LogSink = (bytes: Buffer) => Promise<void> | void;

/** The logs of containers, wherever the provider keeps them. */
export interface ProviderLogs {
  /**
   * Writes the log of one container instance to `sink`, as `options` select it, and resolves at its end; with `follow`, when the container has
   * ended or `signal` aborts.
   *
   * `sink` receives plain text, not the format in which the log is stored: with `timestamps` each line begins with an RFC 3339 time and a
   * space. {@link writeLog} applies all options to lines. `container.id` names the instance: for `previous` it is the one before.
   *
   * @throws {AgentError} `not_found` when there is no log of this instance; the client is shown the message
   */
  readLogs?(container: ContainerRef, options: LogOptions, sink: LogSink, signal: AbortSignal): Promise<void>;
}

/** One line of a log, with or without the newline at its end. */
export interface LogEntry {
  /** When the line was written, ms since the epoch; absent: unknown, and never older than `sinceTime`. */
  readonly at?: number;
  /** Default `stdout`. */
  readonly stream?: 'stdout' | 'stderr';
  readonly text: string;
}

/** What {@link writeLog} needs besides the lines. */
export interface WriteLogDeps {
  /** ms since the epoch, for `sinceSeconds`. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Writes lines to a sink as `options` select them: stream, `sinceTime` or `sinceSeconds`, `tailLines`, `timestamps` and `limitBytes`. For
 * providers that have lines and not files. With `tailLines`, the lines are collected until the source ends, unless `follow` is set: then
 * `lines` is expected to begin with the tail already.
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
  const wanted = selectionOf(options, now);
  const { tailLines = -1, follow = false } = options;
  const isTail = tailLines >= 0 && !follow;
  const tail: LogEntry[] = [];
  for await (const entry of lines) {
    if (signal.aborted) return;
    if (!wanted(entry)) continue;
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

  /** False: the limit is reached. */
  async write({ at, text }: LogEntry): Promise<boolean> {
    const stamp = this.#timestamps ? `${new Date(at ?? 0).toISOString()} ` : '';
    const whole = Buffer.from(`${stamp}${text}${text.endsWith('\n') ? '' : '\n'}`);
    const bytes = whole.length > this.#bytesLeft ? whole.subarray(0, this.#bytesLeft) : whole;
    if (bytes.length > 0) await this.#sink(bytes);
    this.#bytesLeft -= bytes.length;
    return this.#bytesLeft > 0;
  }
}
