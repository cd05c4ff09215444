import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { LogOptions } from '../../provider/logs.ts';
import { LogFile } from './log-file.ts';
import { formatOf, formatTime, isBefore, type LogLine, type ParseLine } from './log-line.ts';

/** Receives bytes of one stream; a returned promise pauses reading until it settles. */
export type LogSink = (bytes: Buffer) => Promise<void> | void;

/** Destinations of the two streams; an absent stream is skipped. */
export interface LogSinks {
  readonly stdout?: LogSink;
  readonly stderr?: LogSink;
}

/** Dependencies of following a log. */
export interface FollowDeps {
  readonly clock: Clock;
  /** True while the container runs; once it does not, the log is read to its end and following stops. */
  readonly isRunning: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Interval between checks of the container while nothing is written, ms. */
const checkPeriodMs = 1000;

/**
 * Reads a container's log in CRI or Docker JSON format with the options tail, since, timestamps, limit and follow, the latter across
 * rotation. Entries that cannot be parsed are skipped.
 * Follows `ReadLogs` (staging cri-client/pkg/logs).
 *
 * @param since ms since the epoch, from {@link sinceOf}; a negative `tailLines` selects all lines
 * @throws {AgentError} `internal` with the kubelet's message when the file cannot be read or its first line has an unknown format
 */
export async function readLogs(
  path: string,
  options: Pick<LogOptions, 'tailLines' | 'limitBytes' | 'timestamps' | 'follow'> & {
    readonly since?: number;
  },
  sinks: LogSinks,
  following?: FollowDeps,
): Promise<void> {
  const { tailLines = -1, follow } = options;
  const tail = tailLines < 0 ? undefined : tailLines;
  const file = await LogFile.open(path, tail);
  try {
    const writer = new LogWriter(options, sinks);
    const left = follow ? Number.POSITIVE_INFINITY : (tail ?? Number.POSITIVE_INFINITY);
    await new LogReader(file, writer, left).run(follow ? following : undefined);
  } finally {
    await file.close();
  }
}

/** Returns the last lines of a log as plain text, both streams together; for termination messages. */
export async function tailLog(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  const take = (bytes: Buffer): void => {
    chunks.push(bytes);
  };
  await readLogs(path, { tailLines: maxTerminationLogLines }, { stdout: take, stderr: take });
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Returns the time from which on entries are selected, ms since the epoch. Like Go's 64-bit nanoseconds, a too long `sinceSeconds` wraps
 * around.
 */
export function sinceOf({ sinceTime, sinceSeconds }: LogOptions, now: number): number | undefined {
  if (sinceSeconds === undefined) return sinceTime;
  const nanoseconds = BigInt.asIntN(64, BigInt(sinceSeconds) * 1_000_000_000n);
  return now - Number(nanoseconds) / 1e6;
}

class LogReader {
  readonly #file: LogFile;
  readonly #writer: LogWriter;
  #left: number;
  #parse: ParseLine | undefined;

  constructor(file: LogFile, writer: LogWriter, left: number) {
    this.#file = file;
    this.#writer = writer;
    this.#left = left;
  }

  async run(following: FollowDeps | undefined): Promise<void> {
    let running = true;
    for (;;) {
      if (!(await this.#readAll())) return;
      if (!following || !running) {
        const rest = this.#file.takeRest();
        if (rest.length > 0 && this.#left > 0 && !following) await this.#take(rest);
        return;
      }
      if (await this.#file.isReplaced()) {
        if (!(await this.#readAll())) return; // entries written just before the rotation
        await this.#file.reopen();
        continue;
      }
      running = await following.isRunning();
      if (running) await waitForChange(this.#file.path, following);
      if (following.signal.aborted) return;
    }
  }

  /** Reads all complete lines. @returns false when the limit was reached */
  async #readAll(): Promise<boolean> {
    while (this.#left > 0) {
      const line = await this.#file.nextLine();
      if (!line) return true;
      if (!(await this.#take(line))) return false;
    }
    return false;
  }

  async #take(line: Buffer): Promise<boolean> {
    this.#parse ??= formatOf(line);
    if (!this.#parse) {
      const shown = goQuote(line.toString('utf8'));
      throw new AgentError('internal', `failed to get parse function: unsupported log format: ${shown}`);
    }
    const entry = this.#parse(line);
    if (!entry) return true;
    const more = await this.#writer.write(entry);
    this.#left--;
    return more;
  }
}

class LogWriter {
  readonly #options: { readonly timestamps?: boolean; readonly since?: number };
  readonly #sinks: LogSinks;
  #bytesLeft: number;
  #atLineStart = true;

  constructor(
    options: { readonly timestamps?: boolean; readonly since?: number; readonly limitBytes?: number },
    sinks: LogSinks,
  ) {
    this.#options = options;
    this.#sinks = sinks;
    this.#bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Writes one entry. @returns false when the limit was reached */
  async write(entry: LogLine): Promise<boolean> {
    const atLineStart = this.#atLineStart;
    this.#atLineStart = entry.text.length === 0 || entry.text.at(-1) === 0x0a;
    const { since, timestamps = false } = this.#options;
    if (since !== undefined && isBefore(entry, since)) return true;
    const sink = this.#sinkOf(entry.stream);
    if (!sink) return true;
    const stamp = timestamps && atLineStart ? `${formatTime(entry)} ` : '';
    const whole = stamp === '' ? entry.text : Buffer.concat([Buffer.from(stamp), entry.text]);
    const bytes = whole.length > this.#bytesLeft ? whole.subarray(0, this.#bytesLeft) : whole;
    await sink(bytes);
    this.#bytesLeft -= bytes.length;
    return this.#bytesLeft > 0;
  }

  #sinkOf(stream: string): LogSink | undefined {
    if (stream === 'stdout') return this.#sinks.stdout;
    if (stream === 'stderr') return this.#sinks.stderr;
    throw new AgentError('internal', `unexpected stream type ${goQuote(stream)}`);
  }
}

/** Waits until the file changes, the check interval has passed, or the signal aborts. */
async function waitForChange(path: string, { clock, signal }: FollowDeps): Promise<void> {
  const done = new AbortController();
  const wake = (): void => {
    done.abort();
  };
  const name = basename(path);
  const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
    if (changed === null || changed === name) wake();
  });
  watcher.on('error', wake);
  signal.addEventListener('abort', wake, { once: true });
  if (signal.aborted) wake();
  await clock.sleep(checkPeriodMs, done.signal).catch(() => undefined);
  signal.removeEventListener('abort', wake);
  watcher.close();
}

/** Fallback of the termination message: the end of the log, at most this number of lines … */
export const maxTerminationLogLines = 80;
