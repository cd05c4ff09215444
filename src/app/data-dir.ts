import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { holdSign, isHeld, type LifeSign } from './life-sign.ts';

/** The layout that this version reads and writes. */
const layout = 'podtender data 1';

/** Interval between checks of the directory, ms. */
const lookMs = 5000;

/** Age at which the lock is renewed, ms. */
const renewMs = 20_000;

/** Age at which the lock of an agent on another host counts as stale, ms: a live agent renews it more often. */
const foreignLockMs = 60_000;

/** DataDirError is thrown when the data directory cannot be used: not writable, in use, of another version, or damaged. */
export class DataDirError extends AgentError {
  override readonly name = 'DataDirError';

  constructor(path: string, what: string, cause?: unknown) {
    super('failed_precondition', `data directory ${path} ${what}`, { cause });
  }
}

/** A claimed data directory; {@link DataDir.release} frees it for the next agent. */
export interface DataDir {
  readonly path: string;
  /**
   * Returns why the directory no longer belongs to this agent (deleted, replaced, or claimed by another one); `undefined` while it does.
   */
  fault(): string | undefined;
  /** Renews the lock, and calls `onLost` once when the directory is lost, until the directory is released. */
  watch(onLost: (fault: string) => void): void;
  release(): void;
}

type DataDirClock = Pick<Clock, 'now' | 'timer'>;

type Refuse = (what: string, cause?: unknown) => DataDirError;

/**
 * Creates and claims the data directory: it must be writable, have this version's layout, and not belong to another running agent.
 *
 * @throws {DataDirError} saying what is wrong with it
 */
export function openDataDir(path: string, clock: DataDirClock = systemClock): DataDir {
  const refuse: Refuse = (what, cause) => new DataDirError(path, what, cause);
  try {
    makeAll(path);
    if (!statSync(path).isDirectory()) throw new Error(`${path}: not a directory`);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw refuse(`cannot be used: ${messageOf(cause)}; choose another with --data-dir`, cause);
  }
  const format = readText(join(path, 'format'));
  if (format !== undefined && format.trim() !== layout) {
    throw refuse(
      `holds "${format.trim().slice(0, 60)}", this version reads "${layout}"; choose another with --data-dir`,
    );
  }
  const claimed = claim(path, clock.now(), refuse);
  if (format === undefined) writeFileSync(join(path, 'format'), `${layout}\n`);
  return dataDirOf(path, claimed, clock);
}

interface Claim {
  readonly owner: string;
  readonly sign: LifeSign;
}

function dataDirOf(path: string, { owner, sign }: Claim, clock: DataDirClock): DataDir {
  const lock = lockOf(path);
  const { dev, ino } = statSync(path);
  let released = false;
  const fault = (): string | undefined => {
    const now = statSync(path, { throwIfNoEntry: false });
    if (!now) return 'was deleted';
    const content = readText(lock);
    // running containers may have created the directory again for their logs
    if (now.dev !== dev || now.ino !== ino)
      return content === undefined ? 'was deleted' : 'was replaced by another';
    if (content === undefined) return 'was emptied: its lock is gone';
    return content === owner ? undefined : 'was claimed by another agent';
  };
  const watch: DataDir['watch'] = (onLost) => {
    clock.timer(lookMs, () => {
      if (released) return;
      const lost = faultOf(fault);
      if (lost === undefined) {
        renew(lock, clock.now());
        watch(onLost);
      } else onLost(lost);
    });
  };
  return {
    path,
    fault: () => faultOf(fault),
    watch,
    release: () => {
      released = true;
      sign.end();
      if (readText(lock) === owner) rmSync(lock, { force: true });
    },
  };
}

const lockOf = (path: string): string => join(path, 'agent.lock');

function faultOf(look: () => string | undefined): string | undefined {
  try {
    return look();
  } catch (reason) {
    return `cannot be read: ${messageOf(reason)}`;
  }
}

/** Renews the lock's time, which tells agents on other hosts that its owner is alive. A full or read-only disk is ignored. */
function renew(lock: string, now: number): void {
  try {
    if (now - statSync(lock).mtimeMs < renewMs) return;
    utimesSync(lock, now / 1000, now / 1000);
  } catch {
    return;
  }
}

/** Creates the directories one by one: Node's recursive mkdir never ends below a directory that answers ENOENT, as /proc does. */
function makeAll(path: string): void {
  if (existsSync(path)) return;
  makeAll(dirname(path));
  mkdirSync(path, { mode: 0o711 });
}

function claim(path: string, now: number, refuse: Refuse): Claim {
  const lock = lockOf(path);
  const sign = join(path, 'agent.alive');
  const self = [processLine(process.pid) ?? String(process.pid), machineLine()].join('\n');
  for (let attempt = 0; attempt < 3; attempt++) {
    const owner = readText(lock);
    const inUse = useOf(owner, { lock, sign, now });
    if (inUse !== undefined)
      throw refuse(`is in use by ${inUse}; stop it, or choose another with --data-dir`);
    rmSync(lock, { force: true });
    try {
      writeFileSync(lock, self, { flag: 'wx', mode: 0o600 });
      return { owner: self, sign: holdSign(sign) };
    } catch (cause) {
      if (!isExisting(cause)) throw refuse(`cannot be used: ${messageOf(cause)}`, cause);
    }
  }
  throw refuse('is being claimed by another process');
}

/**
 * Describes who uses the directory; `undefined` when no live agent does. A process of this host is identified by its id and start time,
 * so that a reused id or a zombie does not count. A process in another PID namespace (a container) is detected by the life sign that it
 * holds open, one on another host by the age of its lock.
 */
function useOf(
  owner: string | undefined,
  { lock, sign, now }: { readonly lock: string; readonly sign: string; readonly now: number },
): string | undefined {
  const [ofProcess = '', ofMachine = ''] = owner?.split('\n') ?? [];
  const pid = Number.parseInt(ofProcess, 10);
  if (owner !== undefined && processLine(pid) === ofProcess) return `process ${pid}`;
  if (isHeld(sign)) return Number.isNaN(pid) ? 'another agent' : `process ${pid} of another container`;
  const host = otherHost(ofMachine);
  const isRenewed = host !== undefined && Math.abs(now - changedAt(lock)) < foreignLockMs;
  return isRenewed ? `process ${pid} of host ${host}` : undefined;
}

/** Returns the modification time in ms since the epoch; 0: the file does not exist. */
const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Returns the host of a lock if it is another one: neither this host name nor this boot. */
function otherHost(ofMachine: string): string | undefined {
  const [boot = '', host = ''] = ofMachine.split(' ');
  const [ownBoot, ownHost] = machineLine().split(' ');
  return host === '' || boot === ownBoot || host === ownHost ? undefined : host;
}

/** Returns `PID START` of a live process; undefined otherwise. State Z or X means that it has ended. */
function processLine(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const [state = 'X', ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return 'ZX'.includes(state) ? undefined : `${pid} ${rest[18] ?? ''}`;
}

/** Returns `BOOT HOST`, which identifies one boot of one machine. */
const machineLine = (): string =>
  `${readText('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown'} ${hostname()}`;

function isExisting(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
