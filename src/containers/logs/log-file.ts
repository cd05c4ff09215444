import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { AgentError, messageOf } from '../../base/errors.ts';
import { hasCode } from '../container/files.ts';

const blockBytes = 64 * 1024;
const newline = 0x0a;

/**
 * LogFile reads a log file line by line, from the start or a number of lines before the end. Reading continues as the file grows;
 * after rotation, {@link reopen} switches to the new file.
 */
export class LogFile {
  readonly path: string;
  #file: FileHandle;
  #position: number;
  /** Blocks of the incomplete line; joined once, when the line ends. */
  #rest: Buffer[] = [];
  #block: Buffer = Buffer.alloc(0);

  private constructor(path: string, file: FileHandle, position: number) {
    this.path = path;
    this.#file = file;
    this.#position = position;
  }

  /** Opens a file. @throws {AgentError} `not_found` or `internal` with the path */
  static async open(path: string, tailLines: number | undefined): Promise<LogFile> {
    const real = await realpath(path).catch(async (reason: unknown) => {
      const cause = (await firstFault(path)) ?? reason;
      const code = hasCode(cause, 'ENOENT') ? 'not_found' : 'internal';
      throw new AgentError(code, `failed to try resolving symlinks in path "${path}": ${messageOf(cause)}`, {
        cause,
      });
    });
    const file = await open(real).catch((cause: unknown) => {
      throw new AgentError('internal', `failed to open log file "${real}": ${messageOf(cause)}`, { cause });
    });
    return new LogFile(real, file, tailLines === undefined ? 0 : await tailStart(file, tailLines));
  }

  /** Returns the next complete line with its newline; `undefined` when there is none yet. */
  async nextLine(): Promise<Buffer | undefined> {
    for (;;) {
      const end = this.#block.indexOf(newline);
      if (end >= 0) {
        const line = Buffer.concat([...this.#rest, this.#block.subarray(0, end + 1)]);
        this.#rest = [];
        this.#block = this.#block.subarray(end + 1);
        return line;
      }
      if (this.#block.length > 0) this.#rest.push(this.#block);
      const { bytesRead, buffer } = await this.#file.read(
        Buffer.alloc(blockBytes),
        0,
        blockBytes,
        this.#position,
      );
      this.#position += bytesRead;
      this.#block = buffer.subarray(0, bytesRead);
      if (bytesRead === 0) return undefined;
    }
  }

  /** Removes and returns the text after the last newline; empty when there is none. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#rest);
    this.#rest = [];
    return rest;
  }

  /** True when the path refers to another file now, or this file was truncated. */
  async isReplaced(): Promise<boolean> {
    const [now, own] = await Promise.all([stat(this.path).catch(() => undefined), this.#file.stat()]);
    return now !== undefined && (now.ino !== own.ino || now.size < this.#position);
  }

  /** Switches to the file at the path; keeps the old one while there is none. */
  async reopen(): Promise<void> {
    const next = await open(this.path).catch(() => undefined);
    if (!next) return;
    await this.#file.close();
    this.#file = next;
    this.#position = 0;
    this.#rest = [];
    this.#block = Buffer.alloc(0);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Returns the error for the first path element that cannot be followed, as in Go's `EvalSymlinks`. */
async function firstFault(path: string): Promise<unknown> {
  const elements = path.split('/');
  for (let end = 2; end <= elements.length; end++) {
    try {
      await lstat(elements.slice(0, end).join('/'));
    } catch (reason) {
      return reason;
    }
  }
  return undefined;
}

/**
 * Returns the offset at which the last `lines` newline-terminated lines begin; text after the last newline does not count as a line
 * (`findTailLineStartIndex`).
 */
async function tailStart(file: FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat();
  let missing = lines + 1; // including the newline before the first line
  for (let right = size; right > 0; right -= blockBytes) {
    const left = Math.max(0, right - blockBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(right - left), 0, right - left, left);
    const block = buffer.subarray(0, bytesRead);
    for (
      let at = block.lastIndexOf(newline);
      at >= 0;
      at = at === 0 ? -1 : block.lastIndexOf(newline, at - 1)
    )
      if (--missing === 0) return left + at + 1;
  }
  return 0;
}
