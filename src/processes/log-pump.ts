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

/** How far the raw output has become log; the log's inode and size tell whether a last write was left half recorded. */
interface Progress {
  readonly stdout: number;
  readonly stderr: number;
  readonly logInode: number;
  readonly logBytes: number;
}

/** What a pump works on and with. */
export interface LogPumpDeps {
  /** Directory of the raw files `stdout` and `stderr`. */
  readonly rawDir: string;
  /** File that keeps the progress over restarts of the agent. */
  readonly progressPath: string;
  /** The container's log in CRI format; empty: none is kept. */
  readonly logPath: string;
  readonly clock: Clock;
  /** Frees the disk space of the first `bytes` bytes of a raw file, when it can. */
  readonly release: (path: string, bytes: number) => void;
}

/**
 * So much raw output waits to be moved at most, bytes: what a container writes faster than that, or makes of its output file by a hole, is
 * dropped. That bounds the disk that it takes, and the time that its end takes.
 */
export const maxBacklogBytes: number = 256 * 1024 * 1024;
/** What is left of a backlog that was too long, bytes. */
const keptBacklogBytes = 1024 * 1024;

/** Raw output is given back to the disk in pieces of this size. */
const releaseBytes = 8 * 1024 * 1024;

/**
 * Moves a container's raw output into its log. Each piece is appended first and recorded next, so after a crash between the
 * two the piece is cut off the log and written again: no line is lost, none doubled.
 *
 * What the container wrote while no agent ran is dated by the last write to the raw file.
 */
export class LogPump {
  readonly #deps: LogPumpDeps;
  readonly #raw = new Map<LogStream, number>();
  readonly #offsets: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  readonly #released: Record<LogStream, number> = { stdout: 0, stderr: 0 };
  #log: number | undefined;
  #progress: number | undefined;
  #caughtUp = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: LogPumpDeps) {
    this.#deps = deps;
  }

  /**
   * Moves all that is there. Calls queue up; with `final` an unfinished last line is written too.
   *
   * @throws what the disk says; what was not moved stays for the next call
   */
  pump(final = false): Promise<void> {
    const done = this.#turn.then(() => this.#drain(final));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Goes on in a new file at the same path, after someone moved the old one away (rotation). */
  async reopen(): Promise<void> {
    await this.pump().catch(() => undefined); // what the old file does not take goes into the new one
    this.#closeLog();
    this.#openLog();
    this.#record();
  }

  /** How many bytes of a raw file, from the beginning on, were given back to the disk. */
  freed(stream: LogStream): number {
    return this.#released[stream];
  }

  close(): void {
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
        // what is written meanwhile waits for the next call, or whoever writes without a pause would hold up all that follows
        if (this.#offsets[stream] < (ends.get(stream) ?? 0) || this.#isCut(stream))
          moved = this.#move(stream, final) || moved;
      if (moved) await nextTurn();
    }
    this.#caughtUp = true;
  }

  /** @returns whether a piece was moved */
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

  /** Was the file cut by its container, which may write to it as it likes? */
  #isCut(stream: LogStream): boolean {
    const raw = this.#raw.get(stream);
    return raw !== undefined && fstatSync(raw).size < this.#offsets[stream];
  }

  /** Begins anew in a file that was cut, and drops the older part of a backlog that is too long, which the log says. */
  #bound(stream: LogStream, raw: number): void {
    const { size } = fstatSync(raw);
    if (size < this.#offsets[stream]) {
      this.#offsets[stream] = 0;
      this.#released[stream] = 0;
    }
    if (size - this.#offsets[stream] <= maxBacklogBytes) return;
    const dropped = size - this.#offsets[stream] - keptBacklogBytes;
    const note = Buffer.from(
      `podtender: ${dropped} bytes of output were dropped: it was written faster than it can be kept\n`,
    );
    this.#append(convertOutput(note, stream, this.#deps.clock.now(), true).log);
    this.#advance(stream, dropped);
  }

  /** All or nothing: what a full disk took of it is taken back, for it comes again. */
  #append(log: Buffer): void {
    if (this.#log === undefined) this.#openLog(); // no new one could be made after a rotation
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
      this.close();
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

  /** One write of fixed length: a killed agent leaves the old line or the new one. */
  #record(): void {
    if (this.#progress === undefined) return;
    const log = this.#log === undefined ? undefined : fstatSync(this.#log);
    const values = [this.#offsets.stdout, this.#offsets.stderr, log?.ino ?? 0, log?.size ?? 0];
    writeSync(this.#progress, `${values.map((value) => String(value).padStart(20)).join(' ')}\n`, 0);
  }
}

const nothing = Buffer.alloc(chunkBytes);

/** Holes of a file read as zeros: they become no log. */
const isEmpty = (chunk: Buffer): boolean => chunk.equals(nothing);

function parseProgress(text: string | undefined): Progress | undefined {
  const values = text?.trim().split(/\s+/).map(Number);
  if (values?.length !== 4 || !values.every(Number.isSafeInteger)) return undefined;
  const [stdout = 0, stderr = 0, logInode = 0, logBytes = 0] = values;
  return { stdout, stderr, logInode, logBytes };
}
