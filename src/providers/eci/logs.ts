import type { Clock } from '../../base/clock.ts';
import { type LogEntry, type LogOptions, type LogSink, writeLog } from '../../provider/logs.ts';
import type { EciParameters } from './api.ts';
import type { EciCalls } from './calls.ts';

/** Which log is read. */
export interface LogTarget {
  readonly groupId: string;
  readonly container: string;
}

export interface LogReaderDeps {
  readonly calls: EciCalls;
  readonly clock: Clock;
  readonly region: string;
  /** False from the moment at which the container has ended: what follows a log stops then. */
  readonly isRunning: (target: LogTarget) => boolean;
}

/** Between two looks for new lines while a log is followed, ms. */
const followEveryMs = 2000;
/** How many lines are remembered to recognize those that an overlapping answer brings again. */
const remembered = 10_000;

/**
 * LogReader reads logs through `DescribeContainerLog`, which gives one text at a time. Following a log asks again from the last time stamp and
 * leaves out what was written already. An error is an error, never an empty log (E16).
 */
export class LogReader {
  readonly #deps: LogReaderDeps;

  constructor(deps: LogReaderDeps) {
    this.#deps = deps;
  }

  /** Writes the log as `options` select it. @throws {EciError} what the service answered */
  async read(target: LogTarget, options: LogOptions, sink: LogSink, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    await writeLog(this.#lines(target, options, signal), options, sink, { now: clock.now(), signal });
  }

  async *#lines(target: LogTarget, options: LogOptions, signal: AbortSignal): AsyncGenerator<LogEntry> {
    const { clock, isRunning } = this.#deps;
    const written = new Recent(remembered);
    let newest: number | undefined;
    let first = true;
    for (;;) {
      const last = options.follow !== true || !isRunning(target);
      for (const line of await this.#ask(target, options, { newest, first, signal })) {
        if (!first && line.at === newest && written.has(line.text)) continue;
        if (line.at !== newest) written.clear();
        newest = line.at ?? newest;
        written.add(line.text);
        yield line;
      }
      if (last || signal.aborted) return;
      first = false;
      try {
        await clock.sleep(followEveryMs, signal);
      } catch {
        return;
      }
    }
  }

  async #ask(
    { groupId, container }: LogTarget,
    options: LogOptions,
    { newest, first, signal }: { newest: number | undefined; first: boolean; signal: AbortSignal },
  ): Promise<readonly LogEntry[]> {
    const { calls, region } = this.#deps;
    const answer = await calls.call(
      'DescribeContainerLog',
      {
        RegionId: region,
        ContainerGroupId: groupId,
        ContainerName: container,
        Timestamps: true,
        LastTime: options.previous === true ? true : undefined,
        ...(first ? selection(options) : { StartTime: newest === undefined ? undefined : rfc3339(newest) }),
      },
      signal,
    );
    const { Content } = answer as { readonly Content?: string };
    const lines = (Content ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map(entryOf);
    return newest === undefined ? lines : lines.filter(({ at }) => at === undefined || at >= newest);
  }
}

/** What the service itself selects; `limitBytes` stays here, since it would count the time stamps too. */
function selection({ tailLines, sinceSeconds, sinceTime, stream = 'All' }: LogOptions): EciParameters {
  return {
    Tail: tailLines !== undefined && tailLines > 0 && stream === 'All' ? tailLines : undefined,
    SinceSeconds: sinceSeconds,
    StartTime: sinceTime === undefined ? undefined : rfc3339(sinceTime),
  };
}

const rfc3339 = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** A line of the service: an RFC 3339 time, a space, the text. */
function entryOf(line: string): LogEntry {
  const space = line.indexOf(' ');
  const at = space < 0 ? Number.NaN : Date.parse(line.slice(0, space));
  return Number.isNaN(at) ? { text: line } : { at, text: line.slice(space + 1) };
}

/** The lines of one instant that were written, up to a number. */
class Recent {
  readonly #texts = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  has(text: string): boolean {
    return this.#texts.has(text);
  }

  add(text: string): void {
    if (this.#texts.size < this.#most) this.#texts.add(text);
  }

  clear(): void {
    this.#texts.clear();
  }
}
