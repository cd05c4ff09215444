import { readFileSync, readdirSync } from 'node:fs';
import { type Clock, steadyNow } from '../base/clock.ts';

/** The fields of `/proc/PID/stat` that supervision reads. Times are in clock ticks (1/100 s on Linux). */
export interface ProcStat {
  readonly pid: number;
  /** `Z` and `X` are dead already. */
  readonly state: string;
  readonly processGroup: number;
  readonly session: number;
  /** User and system time of the process and of the children it has waited for. */
  readonly cpuTicks: number;
  /** Since boot; together with the pid and the boot id it names a process for ever. */
  readonly startTicks: number;
}

/** Reads one line of `/proc/PID/stat`; absent when it is none. The program's name may hold spaces and brackets. */
export function parseStat(line: string): ProcStat | undefined {
  const close = line.lastIndexOf(')');
  const pid = Number.parseInt(line, 10);
  if (close < 0 || !Number.isInteger(pid)) return undefined;
  const fields = line.slice(close + 2).split(' ');
  const number = (index: number): number => Number(fields[index - 3]);
  const startTicks = number(22);
  if (!Number.isFinite(startTicks)) return undefined;
  return {
    pid,
    state: fields[0] ?? '?',
    processGroup: number(5),
    session: number(6),
    cpuTicks: number(14) + number(15) + number(16) + number(17),
    startTicks,
  };
}

/** The process as it is now; absent when there is none. */
export function readStat(pid: number): ProcStat | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Names the present run of the kernel: another one means that no recorded process can be alive. */
export function readBootId(): string {
  return readProc('sys/kernel/random/boot_id')?.trim() ?? 'unknown';
}

/** Every process of the machine. */
export function listProcesses(): readonly ProcStat[] {
  const found: ProcStat[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat) found.push(stat);
  }
  return found;
}

/** How old a listing may be, ms; see {@link ProcessTable.list}. */
const freshMs = 5;

/** Listings of all processes, shared by those who ask at the same time: reading them all is the dearest thing done here. */
export class ProcessTable {
  readonly #clock: Clock;
  #listed: readonly ProcStat[] = [];
  #at = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Every process of some instant within the last few ms. Enough to see a family of processes gone: only a member can make a new
   * member, so once a listing shows none there is none.
   */
  list(): readonly ProcStat[] {
    const now = steadyNow(this.#clock);
    if (now - this.#at > freshMs || now < this.#at) {
      this.#listed = listProcesses();
      this.#at = now;
    }
    return this.#listed;
  }
}

/** Is the variable `name=value` in the environment that the process was started with? False where it may not be read. */
export function hasEnvironment(pid: number, name: string, value: string): boolean {
  const text = readProc(`${pid}/environ`);
  return text?.split('\0').includes(`${name}=${value}`) ?? false;
}

/** Has the process the word on its command line, or none yet, as in the middle of `execve`? False once it has ended. */
export function mayHaveWord(pid: number, word: string): boolean {
  const text = readProc(`${pid}/cmdline`);
  if (text === undefined || text === '') return !isDead(readStat(pid));
  return text.split('\0').includes(word);
}

/** Resident memory in bytes; 0 when the process is gone. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readProc(`${pid}/status`) ?? '');
  return match ? Number(match[1]) * 1024 : 0;
}

export function isDead(stat: ProcStat | undefined): boolean {
  return stat === undefined || stat.state === 'Z' || stat.state === 'X';
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return undefined;
  }
}
