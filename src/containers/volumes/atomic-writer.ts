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

/** One file of a payload; `mode` is a number such as 0o644. */
export interface PayloadFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Owner of the file, where it is not to be the agent's. */
  readonly uid?: number;
}

/** What a volume holds: relative path → file. */
export type Payload = Readonly<Record<string, PayloadFile>>;

const dataLink = '..data';
const newDataLink = '..data_tmp';
const longestPath = 4096;
const longestName = 255;
/** Of a mode nothing else counts. */
const permissions = 0o777;

/**
 * Makes a directory hold exactly a payload, so that a reader sees the old files or the new ones, never a mixture: the files lie in a
 * timestamped directory that the link `..data` points to, and swapping that link is one rename. What is unchanged is not written again.
 *
 * Follows kubelet `volume/util.AtomicWriter`.
 */
export class AtomicWriter {
  readonly #dir: string;

  /** @param dir an existing directory that this writer alone writes to */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * @param now ms since the epoch, names the new directory
   * @param beforeSwap sets owners and labels on the new directory before anyone sees it
   * @returns whether anything was written
   * @throws {AgentError} `invalid_argument` for a path that leaves the directory or is taken by the writer
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

  /** Files of the old payload that the new one lacks. */
  #stale(files: ReadonlyMap<string, PayloadFile>, oldTarget: string): Set<string> {
    const old = join(this.#dir, oldTarget);
    const present = readdirSync(old, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(old.length + 1));
    return new Set(present.filter((path) => !files.has(path)));
  }

  /** Kubelet compares content alone: a new mode of an old file waits for new content. */
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
      chmodSync(file, mode & permissions); // past the umask
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

  /** What users open: a link per first path element, by way of `..data`. */
  #linkTopLevel(files: ReadonlyMap<string, PayloadFile>): void {
    for (const name of topLevel(files.keys())) {
      const link = join(this.#dir, name);
      if (!isLink(link)) symlinkSync(posix.join(dataLink, name), link);
    }
  }

  #removeStale(stale: ReadonlySet<string>, files: ReadonlyMap<string, PayloadFile>): void {
    const wanted = topLevel(files.keys());
    for (const name of topLevel(stale)) if (!wanted.has(name)) unlinkSync(join(this.#dir, name));
  }
}

/**
 * Keeps those who may write to the directory from what is not theirs in it, by the sticky bit. A process has no read-only mounts: it could
 * exchange the files that an agent with more rights is about to write, or the directory that it is about to remove.
 */
function guard(dir: string): void {
  const { mode } = statSync(dir);
  if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0) chmodSync(dir, (mode & 0o7777) | 0o1000);
}

/** Can the writer have made it? A link that leads elsewhere is somebody else's. */
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

/** @throws {AgentError} `invalid_argument` */
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

/** `YYYY_MM_DD_HH_MM_SS` in UTC. */
const timestamp = (now: number): string => new Date(now).toISOString().slice(0, 19).replace(/[-:T]/g, '_');
