import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { layout } from './layout.ts';
import type { Mounter } from './mounter.ts';

/** Opens a name for reference only (Linux `O_PATH`). */
const pathOnly = 0o10000000;

/** One mount of a container that shows a part of a volume. */
export interface SubPathMount {
  readonly podUid: string;
  readonly container: string;
  readonly volume: string;
  readonly volumePath: string;
  readonly subPath: string;
  /** The mount's place among the container's. */
  readonly index: number;
}

export interface SubPathsDeps {
  readonly rootDir: string;
  readonly mounter: Pick<Mounter, 'isMountPoint' | 'bindMount' | 'unmount'>;
  /** Process whose open files the mount command can see. */
  readonly pid: number;
}

/**
 * Makes parts of volumes safe to mount: a container could have put a link there that leads out of its volume. Links are followed first, as
 * far as they stay within the volume; then the part is opened one element at a time without following any, and what was opened is mounted
 * elsewhere, so nothing can be exchanged in between.
 *
 * Follows kubelet `subpath.PrepareSafeSubpath` and `SafeMakeDir`.
 */
export class SubPaths {
  readonly #deps: SubPathsDeps;

  constructor(deps: SubPathsDeps) {
    this.#deps = deps;
  }

  /**
   * The path to mount instead of the part itself. What does not exist is made as a directory. A part that was prepared before and has been
   * exchanged since, as a config map's files are, is prepared anew.
   *
   * @throws {AgentError} `failed_precondition` when the part leads out of the volume
   */
  async prepare(mount: SubPathMount): Promise<string> {
    const { rootDir, mounter, pid } = this.#deps;
    const target = join(
      layout.subPaths(rootDir, mount.podUid),
      mount.volume,
      mount.container,
      String(mount.index),
    );
    const base = realpathSync(mount.volumePath);
    const handle = openWithin(base, resolvedWithin(base, mount.subPath), makeAndOpen);
    try {
      if (mounter.isMountPoint(target)) {
        if (isSame(fstatSync(handle), statSync(target))) return target;
        await mounter.unmount(target);
        rmSync(target, { recursive: true });
      }
      const isDirectory = fstatSync(handle).isDirectory();
      mkdirSync(isDirectory ? target : join(target, '..'), { recursive: true, mode: 0o750 });
      if (!isDirectory) closeSync(openSync(target, 'a', 0o640));
      await mounter.bindMount(`/proc/${pid}/fd/${handle}`, target);
      return target;
    } finally {
      closeSync(handle);
    }
  }
}

/** Files of volumes that the agent itself reads may have this many bytes. */
const maxFileBytes = 1024 * 1024;

/**
 * The text of a file that a pod wrote into one of its volumes, read as safely as parts are mounted; absent: there is no such file.
 *
 * @throws {AgentError} `failed_precondition` when it leads out of the volume, is no regular file or larger than 1 MiB
 */
export function readWithin(volumePath: string, path: string): string | undefined {
  const base = realPathIfThere(volumePath);
  if (base === undefined) return undefined;
  const handle = openWithin(base, resolvedWithin(base, path), () => undefined);
  if (handle === undefined) return undefined;
  try {
    const stats = fstatSync(handle);
    if (!stats.isFile() || stats.size > maxFileBytes)
      throw new AgentError('failed_precondition', `"${path}" is not a file of at most ${maxFileBytes} bytes`);
    return readFileSync(`/proc/self/fd/${handle}`, 'utf8');
  } finally {
    closeSync(handle);
  }
}

const isSame = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino;

/** The part with its links followed, relative to `base`; what does not exist yet stays as it is said. */
function resolvedWithin(base: string, subPath: string): string {
  const elements = subPath.split('/').filter((element) => element !== '' && element !== '.');
  for (let known = elements.length; known >= 0; known--) {
    const real = realPathIfThere(join(base, ...elements.slice(0, known)));
    if (real === undefined) continue;
    const inside = relative(base, real);
    if (inside.split('/')[0] === '..')
      throw new AgentError(
        'failed_precondition',
        `subpath "${subPath}" leads to "${real}", which is not within the volume "${base}"`,
      );
    return join(inside, ...elements.slice(known));
  }
  return subPath;
}

function realPathIfThere(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}

/** Opens the part of a directory that is not there, or returns nothing. */
type WhenMissing<T> = (path: string, parent: number, open: () => number) => T;

/** Opens what lies at `subPath` below `base`, element by element; links are refused. The caller closes it. */
function openWithin<T extends number | undefined>(
  base: string,
  subPath: string,
  whenMissing: WhenMissing<T>,
): number | T {
  let handle: number | T = openSync(base, pathOnly | constants.O_DIRECTORY);
  for (const element of subPath.split('/').filter((part) => part !== '' && part !== '.')) {
    const parent: number = handle;
    try {
      handle = openElement(parent, { element, subPath }, whenMissing);
    } finally {
      closeSync(parent);
    }
    if (handle === undefined) return handle;
  }
  return handle;
}

function openElement<T extends number | undefined>(
  parent: number,
  { element, subPath }: { readonly element: string; readonly subPath: string },
  whenMissing: WhenMissing<T>,
): number | T {
  const path = `/proc/self/fd/${parent}/${element}`;
  const open = (): number => openSync(path, pathOnly | constants.O_NOFOLLOW);
  const handle = tryOpen(open) ?? whenMissing(path, parent, open);
  if (handle === undefined || !fstatSync(handle).isSymbolicLink()) return handle;
  closeSync(handle);
  throw new AgentError(
    'failed_precondition',
    `subpath "${subPath}" leads over the symbolic link "${element}" (${linkText(path)}), which is not allowed`,
  );
}

/** A missing part becomes a directory with the rights of the one above it. */
function makeAndOpen(path: string, parent: number, open: () => number): number {
  try {
    mkdirSync(path, { mode: fstatSync(parent).mode & 0o7777 });
    return open();
  } catch (reason) {
    throw new AgentError('internal', `failed to create subPath directory: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
}

function tryOpen(open: () => number): number | undefined {
  try {
    return open();
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}

function linkText(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'unreadable';
  }
}
