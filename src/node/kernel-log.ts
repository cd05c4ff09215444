import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** KernelLog returns new lines of the kernel's log. */
export interface KernelLog {
  /** Returns lines since the last call, without their prefix; the first call starts at the end of the log at opening time. */
  read(): Promise<readonly string[]>;
  close(): void;
}

/** Maximum size of a record, bytes (kernel `CONSOLE_EXT_LOG_MAX`). */
const recordBytes = 8192;
/** Number of records to read before yielding to other work. */
const atOnce = 256;

/**
 * Opens the kernel's log at its end. Node.js cannot seek there, so older records are read and dropped: their times are of a clock that
 * cannot be compared with others.
 *
 * @throws {Error} when the log cannot be read: no such device, or no permission
 */
export async function openKernelLog(path = '/dev/kmsg'): Promise<KernelLog> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const log = {
    read: () => recordsOf(fd),
    close: () => {
      closeSync(fd);
    },
  };
  await log.read();
  return log;
}

async function recordsOf(fd: number): Promise<readonly string[]> {
  const buffer = Buffer.alloc(recordBytes);
  const lines: string[] = [];
  for (let count = 1; ; count++) {
    const record = nextRecord(fd, buffer);
    if (record === undefined) return lines;
    lines.push(lineOf(record));
    if (count % atOnce === 0) await nextTurn();
  }
}

/** Reads one record; `undefined` when there is none yet. Continues when records were overwritten before they were read. */
function nextRecord(fd: number, buffer: Buffer): string | undefined {
  for (;;)
    try {
      const length = readSync(fd, buffer, 0, buffer.length, null);
      return length === 0 ? undefined : buffer.toString('utf8', 0, length);
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return undefined;
      if (code !== 'EPIPE') throw reason;
    }
}

/** Returns the message of a record `6,1024,5140900,-;NET: Registered …` without its continuation lines. */
export const lineOf = (record: string): string => /^[^;]*;([^\n]*)/.exec(record)?.[1] ?? '';
