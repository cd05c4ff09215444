import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { isAborted } from '../base/abort.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { LogEntry } from '../provider/logs.ts';

/** The time between two looks at a log file that is followed, ms. */
const followMs = 500;

const newline = 0x0a;

/** How a log file is read. */
export interface LogFileOptions {
  /** Whether what is added later is read as well. */
  readonly follow: boolean;
  /** The number of lines at the end to begin with; default: all. */
  readonly tailLines?: number;
  readonly clock: Clock;
  /** Ends the following; lines that were added until then are still read. */
  readonly over: AbortSignal;
}

/**
 * Reads a log file line by line; with `follow`, also the lines that are added until `over` aborts. A line counts once its newline is there,
 * or at the end. A file that became shorter was replaced: it is read from its start.
 *
 * @throws {AgentError} `not_found` when the file cannot be read
 */
export async function* logFileLines(
  path: string,
  { follow, tailLines = -1, clock, over }: LogFileOptions,
): AsyncGenerator<LogEntry> {
  const file = new LogFile(path);
  const first = await file.added();
  if (!follow) first.push(...file.rest());
  yield* tailLines < 0 ? first : first.slice(first.length - Math.min(tailLines, first.length));
  if (!follow) return;
  while (!isAborted(over)) {
    await clock.sleep(followMs, over).catch(() => undefined);
    yield* await file.added();
  }
  yield* file.rest();
}

/** LogFile reads the lines that were added to a file since the last call. */
class LogFile {
  readonly #path: string;
  #offset = 0;
  /** What follows the last newline. */
  #rest = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the complete lines that were added. */
  async added(): Promise<LogEntry[]> {
    const bytes = Buffer.concat([this.#rest, await this.#read()]);
    const end = bytes.lastIndexOf(newline);
    this.#rest = bytes.subarray(end + 1);
    return end < 0 ? [] : bytes.subarray(0, end).toString().split('\n').map(entryOf);
  }

  /** Returns the line at the end that has no newline. */
  rest(): readonly LogEntry[] {
    return this.#rest.length === 0 ? [] : [entryOf(this.#rest.toString())];
  }

  async #read(): Promise<Buffer> {
    let file: FileHandle | undefined;
    try {
      file = await open(this.#path);
      const { size } = await file.stat();
      if (size < this.#offset) {
        this.#offset = 0;
        this.#rest = Buffer.alloc(0);
      }
      const bytes = Buffer.alloc(size - this.#offset);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#offset);
      this.#offset += bytesRead;
      return bytes.subarray(0, bytesRead);
    } catch (cause) {
      throw new AgentError('not_found', `the log cannot be read: ${messageOf(cause)}`, { cause });
    } finally {
      await file?.close();
    }
  }
}

const criLine = /^(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) [FP] ?(.*)$/;

/** Returns the line of a log; one in the format of container runtimes has a time and a stream. */
function entryOf(line: string): LogEntry {
  const [, at = '', stream, text = ''] = criLine.exec(line) ?? [];
  if (stream === undefined) return { text: line };
  return { at: Date.parse(at), stream: stream === 'stderr' ? 'stderr' : 'stdout', text };
}
