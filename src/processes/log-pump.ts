import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { convertOutput, maxLineBytes, type LogStream } from './cri-log.ts';
import { readIfThere, writtenAt } from './files.ts';

const chunkBytes = 4 * maxLineBytes;
const streams: readonly LogStream[] = ['stdout', 'stderr'];

/** Progress of the conversion from raw output to log; the log's inode and size show whether the last write was recorded. */
interface Progress {
  readonly stdout: number;
  readonly stderr: number;
  readonly logInode: number;
  readonly logBytes: number;
}

/** Dependencies of LogPump. */
export interface LogPumpDeps {
  /** Directory of the raw output files `stdout` and `stderr`. */
  readonly rawDir: string;
  /** File that stores the progress across restarts of the agent. */
  readonly progressPath: string;
  /** The container's log in CRI format; empty: no log. */
  readonly logPath: string;
  readonly clock: Clock;
  /** Releases the disk space of the first `bytes` bytes of a raw file, where supported. */
  readonly release: (path: string, bytes: number) => void;
}

/**
 * Maximum size of raw output that waits for conversion, bytes. What a container writes faster than it is converted, or adds by making its
 * output file sparse, is dropped. This limits the disk usage and the duration of the container's end.
 */
export const maxBacklogBytes: number = 256 * 1024 * 1024;
/** Size to which a too large backlog is reduced, bytes. */
const keptBacklogBytes = 1024 * 1024;

/** Raw output is released in pieces of this size, bytes. */
const releaseBytes = 8 * 1024 * 1024;

/**
 * LogPump converts a container's raw output to its log. Each piece is first appended, then recorded; after a crash between the
 * two, the piece is removed from the log and written again, so that no line is lost or duplicated.
 *
 * Output that was written while no agent ran gets the modification time of the raw file.
 */
export class LogPump {
  readonly #deps: LogPumpDeps;
  readonly #raw = new Map<LogStream, number>();
  readonly #offsets: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  readonly #released: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  #log: number | undefined;
  #progress: number | undefined;
  #caughtUp = false;
  #closed = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: LogPumpDeps) {
    this.#deps = deps;
  }

  /**
   * Converts all available output. Calls are queued; with `final`, an incomplete last line is written too.
   *
   * @throws the error of the disk; output that was not converted is left for the next call
   */
  pump(final = false): Promise<void> {
    const done = this.#turn.then(() => this.#drain(final));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Continues in a new log file after the old one was renamed (rotation). */
  async reopen(): Promise<void> {
    await this.pump().catch(() => undefined); // output that cannot be written to the old file goes to the new one
    if (this.#closed) return;
    this.#closeLog();
    this.#openLog();
    this.#record();
  }

  /** Returns the number of bytes released from the start of a raw file. */
  freed(stream: LogStream): number {
    return this.#released[stream];
  }

  /** Closes all files. Output that comes later is left for another pump. */
  close(): void {
    this.#closed = true;
    this.#closeFiles();
  }

  #closeFiles(): void {
    for (const file of this.#raw.values()) closeSync(file);
    this.#raw.clear();
    this.#closeLog();
    if (this.#progress !== undefined) closeSync(this.#progress);
    this.#progress = undefined;
  }

  async #drain(final: boolean): Promise<void> {
    if (!this.#open()) return;
    const ends = new Map([...this.#raw].map(([stream, file]) => [stream, fstatSync(file).size]));
    let moved = true;
    while (moved) {
      moved = false;
      for (const stream of streams)
        // Output written meanwhile is left for the next call; otherwise a container that writes without pause would block everything after
        // it.
        if (this.#offsets[stream] < (ends.get(stream) ?? 0) || this.#isCut(stream))
          moved = this.#move(stream, final) || moved;
      if (moved) await nextTurn();
    }
    this.#caughtUp = true;
  }

  /** Converts one piece. @returns true when there was one */
  #move(stream: LogStream, final: boolean): boolean {
    const raw = this.#raw.get(stream);
    if (raw === undefined) return false;
    this.#bound(stream, raw);
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const read = readSync(raw, chunk, 0, chunkBytes, this.#offsets[stream]);
    if (read === 0) return false;
    const last = final && read < chunkBytes;
    const at = this.#caughtUp ? this.#deps.clock.now() : this.#lastWrite(stream);
    if (read === chunkBytes && isEmpty(chunk)) return this.#advance(stream, read);
    const { log, consumed } = convertOutput(chunk.subarray(0, read), stream, at, last);
    if (consumed === 0) return false;
    this.#append(log);
    return this.#advance(stream, consumed);
  }

  #advance(stream: LogStream, bytes: number): true {
    this.#offsets[stream] += bytes;
    this.#record();
    this.#release(stream);
    return true;
  }

  /** True when the file was truncated by its container, which has write access. */
  #isCut(stream: LogStream): boolean {
    const raw = this.#raw.get(stream);
    return raw !== undefined && fstatSync(raw).size < this.#offsets[stream];
  }

  /** Restarts at the beginning of a truncated file, and drops the older part of a too large backlog with a note in the log. */
  #bound(stream: LogStream, raw: number): void {
    const { size } = fstatSync(raw);
    if (size < this.#offsets[stream]) {
      this.#offsets[stream] = 0;
      this.#released[stream] = 0;
    }
    if (size - this.#offsets[stream] <= maxBacklogBytes) return;
    const dropped = size - this.#offsets[stream] - keptBacklogBytes;
    const note = Buffer.from(
      `podtender: ${dropped} bytes of output were dropped: the container writes faster than its log can be stored\n`,
    );
    this.#append(convertOutput(note, stream, this.#deps.clock.now(), true).log);
    this.#advance(stream, dropped);
  }

  /** Appends to the log atomically: a part written to a full disk is removed, as it will be written again. */
  #append(log: Buffer): void {
    if (this.#log === undefined) this.#openLog(); // opening failed after a rotation
    if (this.#log === undefined) return;
    const before = fstatSync(this.#log);
    try {
      for (let at = 0; at < log.length;) at += writeSync(this.#log, log, at);
    } catch (reason) {
      if (before.isFile()) ftruncateSync(this.#log, before.size);
      throw reason;
    }
  }

  #lastWrite(stream: LogStream): number {
    return writtenAt(join(this.#deps.rawDir, stream)) ?? this.#deps.clock.now();
  }

  #release(stream: LogStream): void {
    if (this.#offsets[stream] - this.#released[stream] < releaseBytes) return;
    this.#released[stream] = this.#offsets[stream];
    this.#deps.release(join(this.#deps.rawDir, stream), this.#offsets[stream]);
  }

  #open(): boolean {
    if (this.#closed) return false;
    if (this.#progress !== undefined) return true;
    const paths = streams.map((stream) => [stream, join(this.#deps.rawDir, stream)] as const);
    if (!paths.every(([, path]) => existsSync(path))) return false;
    const saved = parseProgress(readIfThere(this.#deps.progressPath));
    this.#offsets.stdout = saved?.stdout ?? 0;
    this.#offsets.stderr = saved?.stderr ?? 0;
    this.#caughtUp = saved === undefined;
    try {
      for (const [stream, path] of paths) this.#raw.set(stream, openSync(path, 'r'));
      this.#openLog(saved);
      this.#progress = openSync(this.#deps.progressPath, saved ? 'r+' : 'w', 0o600);
      this.#record();
    } catch (reason) {
      this.#closeFiles();
      throw reason;
    }
    return true;
  }

  #openLog(saved?: Progress): void {
    if (this.#deps.logPath === '') return;
    mkdirSync(dirname(this.#deps.logPath), { recursive: true });
    this.#log = openSync(this.#deps.logPath, 'a', 0o640);
    const { ino, size } = fstatSync(this.#log);
    if (saved?.logInode === ino && size > saved.logBytes) ftruncateSync(this.#log, saved.logBytes);
  }

  #closeLog(): void {
    if (this.#log !== undefined) closeSync(this.#log);
    this.#log = undefined;
  }

  /** Writes the progress in one write of fixed length, so that a killed agent leaves either the old or the new line. */
  #record(): void {
    if (this.#progress === undefined) return;
    const log = this.#log === undefined ? undefined : fstatSync(this.#log);
    const values = [this.#offsets.stdout, this.#offsets.stderr, log?.ino ?? 0, log?.size ?? 0];
    writeSync(this.#progress, `${values.map((value) => String(value).padStart(20)).join(' ')}\n`, 0);
  }
}

const nothing = Buffer.alloc(chunkBytes);

/** True for zeros, which is what holes of a file read as; they are not logged. */
const isEmpty = (chunk: Buffer): boolean => chunk.equals(nothing);

function parseProgress(text: string | undefined): Progress | undefined {
  const values = text?.trim().split(/\s+/).map(Number);
  if (values?.length !== 4 || !values.every(Number.isSafeInteger)) return undefined;
  const [stdout = 0, stderr = 0, logInode = 0, logBytes = 0] = values;
  return { stdout, stderr, logInode, logBytes };
}
