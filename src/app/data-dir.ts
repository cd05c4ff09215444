import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';

/** The layout that this version reads and writes. */
const layout = 'podtender data 1';

/** The data directory cannot be used: it is not writable, in use by another agent, or of another version. */
export class DataDirError extends AgentError {
  override readonly name = 'DataDirError';

  constructor(path: string, what: string, cause?: unknown) {
    super('failed_precondition', `data directory ${path} ${what}`, { cause });
  }
}

/** A data directory in use; {@link DataDir.release} lets the next agent in. */
export interface DataDir {
  readonly path: string;
  release(): void;
}

/**
 * Makes and claims the data directory: writable, of this version's layout, and of no other running agent.
 *
 * @throws {DataDirError} saying what is wrong with it
 */
export function openDataDir(path: string): DataDir {
  const refuse = (what: string, cause?: unknown): DataDirError => new DataDirError(path, what, cause);
  try {
    makeAll(path);
    if (!statSync(path).isDirectory()) throw new Error('it is not a directory');
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
  const lock = join(path, 'agent.lock');
  const owner = claim(lock, refuse);
  if (format === undefined) writeFileSync(join(path, 'format'), `${layout}\n`);
  return {
    path,
    release: () => {
      if (readText(lock) === owner) rmSync(lock, { force: true });
    },
  };
}

/** Step by step: Node's own recursion never ends below a directory that answers ENOENT, as /proc does. */
function makeAll(path: string): void {
  if (existsSync(path)) return;
  makeAll(dirname(path));
  mkdirSync(path, { mode: 0o711 });
}

/** @returns what the lock says now: pid and start time, so that a pid used again is no living owner */
function claim(lock: string, refuse: (what: string, cause?: unknown) => DataDirError): string {
  const self = ownerLine(process.pid) ?? String(process.pid);
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      writeFileSync(lock, self, { flag: 'wx', mode: 0o600 });
      return self;
    } catch (cause) {
      const held = readText(lock);
      if (held === undefined && !isExisting(cause))
        throw refuse(`cannot be used: ${messageOf(cause)}`, cause);
      const pid = Number.parseInt(held ?? '', 10);
      if (held !== undefined && ownerLine(pid) === held) {
        throw refuse(`is in use by process ${pid}; stop it, or choose another with --data-dir`);
      }
      rmSync(lock, { force: true });
    }
  }
  throw refuse('is being claimed by another process');
}

/** `PID START`; absent when there is no such process. */
function ownerLine(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const start = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return start === undefined ? undefined : `${pid} ${start}`;
}

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
