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

/** A mount of a container with a subpath of a volume. */
export interface SubPathMount {
  readonly podUid: string;
  readonly container: string;
  readonly volume: string;
  readonly volumePath: string;
  readonly subPath: string;
  /** Index of the mount in the container. */
  readonly index: number;
}

export interface SubPathsDeps {
  readonly rootDir: string;
  readonly mounter: Pick<Mounter, 'isMountPoint' | 'bindMount' | 'unmount'>;
  readonly logger: Logger;
  /** Process whose open file descriptors the mount command can access. */
  readonly pid: number;
  /** Rejects when a path does not respond; any response is fine. */
  readonly answers: (path: string) => Promise<void>;
}

/**
 * SubPaths makes subpaths safe to mount: a container could place a link that leads out of its volume. Links are resolved first and must
 * stay within the volume; then the subpath is opened element by element without following links, and the open file is bind-mounted
 * elsewhere, so nothing can be replaced in between.
 *
 * Follows kubelet `subpath.PrepareSafeSubpath` and `SafeMakeDir`.
 */
export class SubPaths {
  readonly #deps: SubPathsDeps;

  constructor(deps: SubPathsDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the path to mount in place of the subpath. Missing elements are created as directories, the last with the mode of the volume. A
   * subpath that was replaced since it was prepared, such as a config map's file, is prepared again.
   *
   * @throws {AgentError} `deadline_exceeded` when the volume does not respond; `failed_precondition` when it does not exist, or the subpath
   *   leads out of it or cannot be created. The cause is only logged, as it could reveal to a pod what is on the host.
   */
  async prepare(mount: SubPathMount): Promise<string> {
    const requested = join(mount.volumePath, mount.subPath);
    const target = join(
      layout.subPaths(this.#deps.rootDir, mount.podUid),
      fileName(mount.volume, 'the name of a volume'),
      fileName(mount.container, 'the name of a container'),
      String(mount.index),
    );
    for (const path of [requested, target]) await this.#deps.answers(path);
    const isThere = (await ifThere(stat(requested)).catch(() => 'something else')) !== undefined;
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

/** Checks that the volume exists before a subpath is created in it. */
async function demandVolume(path: string): Promise<void> {
  try {
    await stat(path);
  } catch (cause) {
    throw new AgentError('failed_precondition', messageOf(cause), { cause });
  }
}

/** Maximum size of a file in a volume that the agent reads, bytes. */
const maxFileBytes = 1024 * 1024;

/**
 * Returns the text of a file that a pod wrote to a volume, opened as safely as a subpath; `undefined` when it does not exist.
 *
 * @throws {AgentError} `failed_precondition` when it leads out of the volume, is not a regular file or is larger than 1 MiB
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

/** The same message for every rejected link, as details could reveal to a pod what is on the host. */
const leadsOut = (subPath: string, why: string): AgentError =>
  new AgentError(
    'failed_precondition',
    `a symbolic link in "${subPath}" does not lead to within the volume`,
    {
      cause: new Error(why),
    },
  );

/** Returns the subpath with its links resolved, relative to `base`; missing elements are left unchanged. */
async function resolvedWithin(base: string, subPath: string): Promise<string> {
  const elements = elementsBelow(subPath, 'a part of a volume');
  for (let existing = elements.length; existing >= 0; existing--) {
    const real = await ifThere(realpath(join(base, ...elements.slice(0, existing))));
    if (real === undefined) continue;
    const inside = relative(base, real);
    if (inside.split('/')[0] === '..') throw leadsOut(subPath, `it leads to "${real}"`);
    return join(inside, ...elements.slice(existing));
  }
  return subPath;
}

/** Returns the result of a file operation; `undefined` when the path does not exist. */
async function ifThere<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw reason;
  }
}

/** Returns the path of an element in an open directory. */
const within = ({ fd }: FileHandle, element = ''): string => join(byDescriptor(fd), element);

/** Opens a missing element of a directory, or returns `undefined`. */
type WhenMissing<T> = (path: string, open: () => Promise<FileHandle>) => Promise<T>;

/** Opens `subPath` below `base`, element by element, rejecting links. The caller closes the file. */
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

/** Creates missing directories. Follows kubelet `doSafeMakeDir`: the last one gets the mode of the volume, regardless of the umask. */
class Maker {
  readonly #mode: number;
  #hasCreated = false;

  constructor(mode: number) {
    this.#mode = mode;
  }

  readonly makeAndOpen: WhenMissing<FileHandle> = async (path, opened) => {
    await mkdir(path, { mode: this.#mode & 0o777 });
    this.#hasCreated = true;
    return opened();
  };

  async finish(last: FileHandle): Promise<void> {
    if (this.#hasCreated && (await last.stat()).isDirectory()) await chmod(within(last), this.#mode);
  }
}
