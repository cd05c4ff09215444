import { constants, type Stats } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { byDescriptor, elementsBelow, fileName, pathOnly } from '../../base/files/below.ts';
import type { Logger } from '../../base/logger.ts';
import { layout } from '../paths/layout.ts';
import type { Mounter } from './mounter.ts';

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
  readonly logger: Logger;
  /** Process whose open files the mount command can see. */
  readonly pid: number;
  /** Rejects when a path answers no more; what it answers does not matter. */
  readonly answers: (path: string) => Promise<void>;
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
   * The path to mount instead of the part itself. What does not exist is made as directories, the last with the rights of the volume. A part that
   * was prepared before and has been exchanged since, as a config map's files are, is prepared anew.
   *
   * @throws {AgentError} `deadline_exceeded` when the volume does not answer; `failed_precondition` when there is none, or the part leads out
   *   of it or cannot be made. Why that is is logged alone: it could tell a pod what lies on the host.
   */
  async prepare(mount: SubPathMount): Promise<string> {
    const wanted = join(mount.volumePath, mount.subPath);
    const target = join(
      layout.subPaths(this.#deps.rootDir, mount.podUid),
      fileName(mount.volume, 'the name of a volume'),
      fileName(mount.container, 'the name of a container'),
      String(mount.index),
    );
    for (const path of [wanted, target]) await this.#deps.answers(path);
    const isThere = (await ifThere(stat(wanted)).catch(() => 'something else')) !== undefined;
    if (!isThere) await demandVolume(mount.volumePath);
    try {
      return await this.#prepare(mount, target);
    } catch (reason) {
      const what = isThere ? 'prepare subPath' : 'create subPath directory';
      const message = `failed to ${what} for volumeMount "${mount.volume}" of container "${mount.container}"`;
      this.#deps.logger.error('a part of a volume was not mounted', {
        uid: mount.podUid,
        container: mount.container,
        volume: mount.volume,
        subPath: mount.subPath,
        err: [reason, (reason as Error).cause ?? []].flat().map(messageOf).join(': '),
      });
      throw new AgentError('failed_precondition', message, { cause: reason });
    }
  }

  async #prepare({ volumePath, subPath }: SubPathMount, target: string): Promise<string> {
    const { mounter, pid } = this.#deps;
    const base = await realpath(volumePath);
    const { mode } = await stat(base);
    const maker = new Maker(mode & 0o7777);
    const handle = await openWithin(base, await resolvedWithin(base, subPath), maker.makeAndOpen);
    try {
      await maker.finish(handle);
      if (mounter.isMountPoint(target)) {
        if (isSame(await handle.stat(), await stat(target))) return target;
        await mounter.unmount(target);
        await rm(target, { recursive: true });
      }
      const isDirectory = (await handle.stat()).isDirectory();
      await mkdir(isDirectory ? target : join(target, '..'), { recursive: true, mode: 0o750 });
      if (!isDirectory) await (await open(target, 'a', 0o640)).close();
      await mounter.bindMount(`/proc/${pid}/fd/${handle.fd}`, target);
      return target;
    } finally {
      await handle.close();
    }
  }
}

/** A part is made only in a volume that is there. */
async function demandVolume(path: string): Promise<void> {
  try {
    await stat(path);
  } catch (cause) {
    throw new AgentError('failed_precondition', messageOf(cause), { cause });
  }
}

/** Files of volumes that the agent itself reads may have this many bytes. */
const maxFileBytes = 1024 * 1024;

/**
 * The text of a file that a pod wrote into one of its volumes, read as safely as parts are mounted; absent: there is no such file.
 *
 * @throws {AgentError} `failed_precondition` when it leads out of the volume, is no regular file or larger than 1 MiB
 */
export async function readWithin(volumePath: string, path: string): Promise<string | undefined> {
  const base = await ifThere(realpath(volumePath));
  if (base === undefined) return undefined;
  const handle = await openWithin(base, await resolvedWithin(base, path), async () => undefined);
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > maxFileBytes)
      throw new AgentError('failed_precondition', `"${path}" is not a file of at most ${maxFileBytes} bytes`);
    return await readFile(within(handle), 'utf8');
  } finally {
    await handle.close();
  }
}

const isSame = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino;

/** The same words for every link that may not be followed: a pod must not learn from them what there is on the host. */
const leadsOut = (subPath: string, why: string): AgentError =>
  new AgentError(
    'failed_precondition',
    `a symbolic link in "${subPath}" does not lead to within the volume`,
    {
      cause: new Error(why),
    },
  );

/** The part with its links followed, relative to `base`; what does not exist yet stays as it is said. */
async function resolvedWithin(base: string, subPath: string): Promise<string> {
  const elements = elementsBelow(subPath, 'a part of a volume');
  for (let known = elements.length; known >= 0; known--) {
    const real = await ifThere(realpath(join(base, ...elements.slice(0, known))));
    if (real === undefined) continue;
    const inside = relative(base, real);
    if (inside.split('/')[0] === '..') throw leadsOut(subPath, `it leads to "${real}"`);
    return join(inside, ...elements.slice(known));
  }
  return subPath;
}

/** What a look finds; absent: there is nothing. */
async function ifThere<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}

/** What lies in what was opened. */
const within = ({ fd }: FileHandle, element = ''): string => join(byDescriptor(fd), element);

/** Opens the part of a directory that is not there, or returns nothing. */
type WhenMissing<T> = (path: string, open: () => Promise<FileHandle>) => Promise<T>;

/** Opens what lies at `subPath` below `base`, element by element; links are refused. The caller closes it. */
async function openWithin<T extends FileHandle | undefined>(
  base: string,
  subPath: string,
  whenMissing: WhenMissing<T>,
): Promise<FileHandle | T> {
  let handle: FileHandle | T = await open(base, pathOnly | constants.O_DIRECTORY);
  for (const element of elementsBelow(subPath, 'a part of a volume')) {
    const parent: FileHandle = handle;
    try {
      handle = await openElement(parent, { element, subPath }, whenMissing);
    } finally {
      await parent.close();
    }
    if (handle === undefined) return handle;
  }
  return handle;
}

async function openElement<T extends FileHandle | undefined>(
  parent: FileHandle,
  { element, subPath }: { readonly element: string; readonly subPath: string },
  whenMissing: WhenMissing<T>,
): Promise<FileHandle | T> {
  const path = within(parent, element);
  const opened = (): Promise<FileHandle> => open(path, pathOnly | constants.O_NOFOLLOW);
  const handle = (await ifThere(opened())) ?? (await whenMissing(path, opened));
  if (!(await handle?.stat())?.isSymbolicLink()) return handle;
  await handle?.close();
  throw leadsOut(subPath, `"${element}" leads to "${await readlink(path).catch(() => 'somewhere')}"`);
}

/** Makes directories that are missing. Follows kubelet `doSafeMakeDir`: the last one has the rights of the volume past the umask. */
class Maker {
  readonly #mode: number;
  #hasMade = false;

  constructor(mode: number) {
    this.#mode = mode;
  }

  readonly makeAndOpen: WhenMissing<FileHandle> = async (path, opened) => {
    await mkdir(path, { mode: this.#mode & 0o777 });
    this.#hasMade = true;
    return opened();
  };

  async finish(last: FileHandle): Promise<void> {
    if (this.#hasMade && (await last.stat()).isDirectory()) await chmod(within(last), this.#mode);
  }
}
