import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What the kernel has said since it was last asked. */
export interface KernelLog {
  /** Lines that are new, without their heads; the first call begins where the log ended when it was opened. */
  read(): Promise<readonly string[]>;
  close(): void;
}

/** A record is never longer (kernel `CONSOLE_EXT_LOG_MAX`). */
const recordBytes = 8192;
/** So many records are read before others have their turn. */
const atOnce = 256;

/**
 * The kernel's log from now on. Node.js cannot go to its end, so what is older is read and dropped: its times are of a clock that no
 * other keeps up with.
 *
 * @throws {Error} it cannot be read: no such device, or not allowed
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

/** `6,1024,5140900,-;NET: Registered …` → what follows the semicolon, without the lines that explain it. */
export const lineOf = (record: string): string => /^[^;]*;([^\n]*)/.exec(record)?.[1] ?? '';
