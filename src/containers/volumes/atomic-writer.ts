import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  lstatSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  chmodSync,
  chownSync,
  statSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { cleanPath } from '../../go/clean-path.ts';
import { AgentError } from '../../base/errors.ts';
import { pathBelow } from '../../base/files/below.ts';
import { goQuote } from '../../go/go-quote.ts';

/** A file of a payload; `mode` is a number such as 0o644. */
export interface PayloadFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Owner of the file; absent: the agent's user. */
  readonly uid?: number;
}

/** Files of a volume by relative path. */
export type Payload = Readonly<Record<string, PayloadFile>>;

const dataLink = '..data';
const newDataLink = '..data_tmp';
const longestPath = 4096;
const longestName = 255;
/** Permission bits of a mode; others are ignored. */
const permissions = 0o777;

/**
 * AtomicWriter makes a directory contain exactly a payload, so that readers see either the old or the new files: the files are in a
 * timestamped directory that the link `..data` points to, and the link is replaced by one rename. Unchanged payloads are not rewritten.
 *
 * Follows kubelet `volume/util.AtomicWriter`.
 */
export class AtomicWriter {
  readonly #dir: string;

  /** @param dir an existing directory that only this writer writes to */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Writes a payload. @param now ms since the epoch, for the name of the new directory
   * @param beforeSwap sets owners and labels of the new directory before it becomes visible
   * @returns true when anything was written
   * @throws {AgentError} `invalid_argument` for a path that leaves the directory or is reserved
   */
  write(payload: Payload, now: number, beforeSwap?: (dir: string) => void): boolean {
    for (const path of Object.keys(payload)) checkPath(path);
    const files = new Map(Object.entries(payload).map(([path, file]) => [cleanPath(path), file]));
    guard(this.#dir);
    const oldTarget = this.#oldTarget();
    const stale = oldTarget === undefined ? new Set<string>() : this.#stale(files, oldTarget);
    if (oldTarget !== undefined && stale.size === 0 && this.#same(files, oldTarget)) {
      this.#linkTopLevel(files);
      return false;
    }
    const fresh = this.#writeFiles(files, now);
    beforeSwap?.(fresh);
    this.#swap(fresh);
    this.#linkTopLevel(files);
    this.#removeStale(stale, files);
    if (oldTarget !== undefined) rmSync(join(this.#dir, oldTarget), { recursive: true, force: true });
    return true;
  }

  #oldTarget(): string | undefined {
    try {
      const target = readlinkSync(join(this.#dir, dataLink));
      return isOwnName(target) && lstatSync(join(this.#dir, target)).isDirectory() ? target : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns files of the old payload that are not in the new one. */
  #stale(files: ReadonlyMap<string, PayloadFile>, oldTarget: string): Set<string> {
    const old = join(this.#dir, oldTarget);
    const present = readdirSync(old, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(old.length + 1));
    return new Set(present.filter((path) => !files.has(path)));
  }

  /** Compares content only, as the kubelet does: a changed mode takes effect with the next change of content. */
  #same(files: ReadonlyMap<string, PayloadFile>, oldTarget: string): boolean {
    for (const [path, { data }] of files) {
      try {
        if (!readFileSync(join(this.#dir, oldTarget, path)).equals(data)) return false;
      } catch {
        return false;
      }
    }
    return true;
  }

  #writeFiles(files: ReadonlyMap<string, PayloadFile>, now: number): string {
    const dir = mkdtempSync(join(this.#dir, `..${timestamp(now)}.`));
    chmodSync(dir, 0o755);
    for (const [path, { data, mode, uid }] of files) {
      const file = pathBelow(dir, path, 'a file of a volume');
      mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
      writeFileSync(file, data, { mode: mode & permissions });
      chmodSync(file, mode & permissions); // regardless of the umask
      if (uid !== undefined) chownSync(file, uid, statSync(file).gid);
    }
    return dir;
  }

  #swap(fresh: string): void {
    const next = join(this.#dir, newDataLink);
    rmSync(next, { force: true });
    symlinkSync(fresh.slice(this.#dir.length + 1), next);
    renameSync(next, join(this.#dir, dataLink));
  }

  /** Creates the links that users open: one per first path element, through `..data`. */
  #linkTopLevel(files: ReadonlyMap<string, PayloadFile>): void {
    for (const name of topLevel(files.keys())) {
      const link = join(this.#dir, name);
      if (!isLink(link)) symlinkSync(posix.join(dataLink, name), link);
    }
  }

  #removeStale(stale: ReadonlySet<string>, files: ReadonlyMap<string, PayloadFile>): void {
    const current = topLevel(files.keys());
    for (const name of topLevel(stale)) if (!current.has(name)) unlinkSync(join(this.#dir, name));
  }
}

/**
 * Sets the sticky bit, so that other users who may write to the directory cannot remove or replace the agent's files. Pods of the process
 * provider have no read-only mounts: they could otherwise replace files that a privileged agent is about to write or remove.
 */
function guard(dir: string): void {
  const { mode } = statSync(dir);
  if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0) chmodSync(dir, (mode & 0o7777) | 0o1000);
}

/** True for names that this writer creates; other link targets are foreign. */
const isOwnName = (target: string): boolean => /^\.\.\d{4}(?:_\d\d){5}\.\w+$/.test(target);

const topLevel = (paths: Iterable<string>): ReadonlySet<string> =>
  new Set([...paths].map((path) => path.split('/', 1)[0] ?? path));

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Checks a payload path. @throws {AgentError} `invalid_argument` */
function checkPath(path: string): void {
  const wrong = pathFault(path);
  if (wrong !== undefined) throw new AgentError('invalid_argument', wrong);
}

function pathFault(path: string): string | undefined {
  if (path === '') return `invalid path: must not be empty: ${goQuote(path)}`;
  if (path.startsWith('/')) return `invalid path: must be relative path: ${path}`;
  if (Buffer.byteLength(path) > longestPath)
    return `invalid path: must be less than or equal to ${longestPath} characters`;
  const parts = path.split('/');
  for (const part of parts) {
    if (part === '..') return `invalid path: must not contain '..': ${path}`;
    if (Buffer.byteLength(part) > longestName)
      return `invalid path: filenames must be less than or equal to ${longestName} characters`;
  }
  if (parts[0]?.startsWith('..')) return `invalid path: must not start with '..': ${path}`;
  return undefined;
}

/** Formats `YYYY_MM_DD_HH_MM_SS` in UTC. */
const timestamp = (now: number): string => new Date(now).toISOString().slice(0, 19).replace(/[-:T]/g, '_');
