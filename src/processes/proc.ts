import { readFileSync, readdirSync } from 'node:fs';
import { type Clock, steadyNow } from '../base/clock.ts';

/** The fields of `/proc/PID/stat` that supervision uses. Times are in clock ticks (1/100 s on Linux). */
export interface ProcStat {
  readonly pid: number;
  /** `Z` and `X`: the process is dead. */
  readonly state: string;
  readonly processGroup: number;
  readonly session: number;
  /** User and system time of the process and the children it has waited for. */
  readonly cpuTicks: number;
  /** Start time since boot; with the pid and the boot id it identifies a process uniquely. */
  readonly startTicks: number;
}

/** Parses a line of `/proc/PID/stat`; `undefined` when it is malformed. The program's name may contain spaces and brackets. */
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

/** Returns the current state of a process; `undefined` when it does not exist. */
export function readStat(pid: number): ProcStat | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Returns the kernel's boot id; with another boot id, no recorded process can be alive. */
export function readBootId(): string {
  return readProc('sys/kernel/random/boot_id')?.trim() ?? 'unknown';
}

/** Lists all processes of the machine. */
export function listProcesses(): readonly ProcStat[] {
  const found: ProcStat[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat) found.push(stat);
  }
  return found;
}

/** Maximum age of a cached listing, ms; see {@link ProcessTable.list}. */
const freshMs = 5;

/** ProcessTable shares listings of all processes between concurrent callers, as reading all of `/proc` is expensive. */
export class ProcessTable {
  readonly #clock: Clock;
  #listed: readonly ProcStat[] = [];
  #at = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the processes at some time within the last few ms. That suffices to decide that a process family is gone: only a member can
   * create a new member, so once a listing contains none there is none.
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

/** True when the process was started with `name=value` in its environment; false also when its environment may not be read. */
export function hasEnvironment(pid: number, name: string, value: string): boolean {
  const text = readProc(`${pid}/environ`);
  return text?.split('\0').includes(`${name}=${value}`) ?? false;
}

/** True when the process has the word on its command line, or no command line yet, as during `execve`; false once it has exited. */
export function mayHaveWord(pid: number, word: string): boolean {
  const text = readProc(`${pid}/cmdline`);
  if (text === undefined || text === '') return !isDead(readStat(pid));
  return text.split('\0').includes(word);
}

/** Returns the resident memory in bytes; 0 when the process does not exist. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readProc(`${pid}/status`) ?? '');
  return match ? Number(match[1]) * 1024 : 0;
}

/** Returns the pid of a process's first child; `undefined` without one. */
export function firstChild(pid: number): number | undefined {
  const child = Number.parseInt(readProc(`${pid}/task/${pid}/children`) ?? '', 10);
  return Number.isNaN(child) ? undefined : child;
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
