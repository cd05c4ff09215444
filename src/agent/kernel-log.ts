import { closeSync, constants, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What the kernel has said since it was last asked. */
export interface KernelLog {
  /** Lines that are new, without their heads; the first call begins at the time when the log was opened. */
  read(): Promise<readonly string[]>;
  close(): void;
}

/** A record is never longer (kernel `CONSOLE_EXT_LOG_MAX`). */
const recordBytes = 8192;
/** So many records are read before others have their turn. */
const atOnce = 256;

/**
 * The kernel's log from now on. Node.js cannot go to its end, so the first reading passes over what is older.
 *
 * @throws {Error} it cannot be read: no such device, or not allowed
 */
export function openKernelLog(path = '/dev/kmsg', openedAt: number = uptime()): KernelLog {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(recordBytes);
  return {
    read: async () => {
      const lines: string[] = [];
      for (let count = 1; ; count++) {
        const record = nextRecord(fd, buffer);
        if (record === undefined) return lines;
        const line = lineSince(record, openedAt);
        if (line !== undefined) lines.push(line);
        if (count % atOnce === 0) await nextTurn();
      }
    },
    close: () => {
      closeSync(fd);
    },
  };
}

/** Each read gives one record, or says that there is none yet, or that some were overwritten before they were read. */
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

/** `6,1024,5140900,-;NET: Registered …` → what follows the semicolon, if the kernel said it after so many seconds of its life. */
export function lineSince(record: string, seconds: number): string | undefined {
  const [, micros, line] = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record) ?? [];
  return Number(micros) >= seconds * 1e6 ? line : undefined;
}
