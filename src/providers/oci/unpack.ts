import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { byDescriptor, inDirectoryBelow, pathOnly } from '../../base/files/below.ts';
import { elementsInRoot } from './in-root.ts';
import { readTar } from './tar-entries.ts';
import type { TarEntry } from './tar-header.ts';
import { writeContent } from './write-content.ts';

/** Limits of an image's unpacked content. */
export interface UnpackLimits {
  /** bytes of all files */
  readonly maxBytes: number;
  /** files, directories and links */
  readonly maxEntries: number;
}

/** 64 GiB in two million files. */
export const defaultLimits: UnpackLimits = { maxBytes: 64 * 2 ** 30, maxEntries: 2_000_000 };

/** What was unpacked, so far. Layers of one image share it. */
export interface UnpackTally {
  bytes: number;
  entries: number;
}

/** How a layer is unpacked. */
export interface UnpackOptions {
  readonly limits: UnpackLimits;
  readonly tally: UnpackTally;
  /** True to give files their owners, which only root may. */
  readonly asRoot: boolean;
  readonly signal?: AbortSignal;
}

const opaque = '.wh..wh..opq';
const whiteout = '.wh.';

/**
 * Unpacks a layer into a root directory over the layers below it, and returns the digest of the uncompressed layer. Entries and links are
 * resolved as if `root` were the root directory, and every directory on the way is opened without following a link, so nothing outside it
 * is written, removed or given another mode or owner. Devices are left out: containers get a `/dev` of their own. Nothing else may write to
 * `root` meanwhile.
 *
 * @throws {AgentError} `invalid_argument` with the entry for an archive that is damaged or leads out of the root, `resource_exhausted`
 * beyond the limits
 */
export async function unpackLayer(blob: string, root: string, options: UnpackOptions): Promise<string> {
  const layer = new Layer(root, options);
  const hash = createHash('sha256');
  const { signal } = options;
  try {
    await readTar(
      blob,
      { what: 'the layer', signal, onBytes: (part) => hash.update(part) },
      (entry, content) => layer.add(entry, content),
    );
    layer.finish();
  } finally {
    layer.close();
  }
  return `sha256:${hash.digest('hex')}`;
}

/** A directory that is open. */
interface OpenDirectory {
  /** Its path in the root, with links as the archive has them. */
  readonly name: string;
  /** Its elements below the root, none of which is a link. */
  readonly elements: readonly string[];
  readonly fd: number;
}

/** Layer writes the entries of one layer. */
class Layer {
  readonly #root: string;
  readonly #options: UnpackOptions;
  /** Paths in the root that this layer has written, which its opaque directories keep. */
  readonly #own = new Set<string>();
  /** The directory of the last entry, as most entries follow one of the same; forgotten when anything is removed. */
  #parent: OpenDirectory | undefined;
  /** Owners, modes and times of directories by their path in the root, set last: writing into them would change or need them. */
  readonly #directories = new Map<string, TarEntry>();

  constructor(root: string, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
  }

  async add(entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void> {
    this.#count(entry);
    const elements = elementsOf(entry.name);
    const name = elements.at(-1);
    if (entry.kind === 'label') return;
    if (entry.kind === 'other') throw unfit(entry.name, 'which is of a kind that no file system has');
    if (name === undefined) {
      if (entry.kind !== 'directory') throw unfit(entry.name, 'which is no directory');
      this.#directories.set('', entry);
      return;
    }
    const parent = this.#parentOf(elements.slice(0, -1).join('/'));
    if (name === opaque) this.#clear(parent);
    else if (name.startsWith(whiteout)) this.#remove(parent, name.slice(whiteout.length), entry.name);
    else await this.#write(parent, name, entry, content);
  }

  /** Sets owners, modes and times of directories, inner ones first. What another entry has replaced by something else is left as it is. */
  finish(): void {
    for (const [path, entry] of [...this.#directories].reverse())
      try {
        inDirectoryBelow(this.#root, elementsOf(path), {}, (directory) => {
          if (this.#options.asRoot) chownSync(directory, entry.uid, entry.gid);
          chmodSync(directory, this.#options.asRoot ? entry.mode & 0o7777 : (entry.mode & 0o7777) | 0o700);
          utimesSync(directory, timeOf(entry), timeOf(entry));
        });
      } catch (reason) {
        if (!isGone(reason)) throw reason;
      }
  }

  /** Closes the directory that is open. */
  close(): void {
    if (this.#parent) closeSync(this.#parent.fd);
    this.#parent = undefined;
  }

  #count({ name, size }: TarEntry): void {
    const { limits, tally } = this.#options;
    tally.entries++;
    tally.bytes += size;
    if (tally.entries > limits.maxEntries)
      throw new AgentError(
        'resource_exhausted',
        `the image has more than ${limits.maxEntries} files (at ${JSON.stringify(name)})`,
      );
    if (tally.bytes > limits.maxBytes)
      throw new AgentError(
        'resource_exhausted',
        `the image unpacks to more than ${limits.maxBytes} bytes (at ${JSON.stringify(name)})`,
      );
  }

  /** Opens the directory of an entry, created when it is missing. It stays open until the next one is. */
  #parentOf(name: string): OpenDirectory {
    if (this.#parent?.name === name) return this.#parent;
    this.close();
    const elements = elementsInRoot(this.#root, name);
    this.#parent = { name, elements, fd: openMade(this.#root, elements) };
    return this.#parent;
  }

  /** Removes what the layers below have in a directory. */
  #clear({ fd, elements }: OpenDirectory): void {
    this.#clearBelow(byDescriptor(fd), elements.join('/'));
    this.close();
  }

  #clearBelow(directory: string, path: string): void {
    for (const name of readdirSync(directory)) {
      const inner = pathOf(path, name);
      if (!this.#own.has(inner)) rmSync(join(directory, name), { recursive: true, force: true });
      else if (lstatSync(join(directory, name)).isDirectory())
        inDirectoryBelow(directory, [name], {}, (next) => {
          this.#clearBelow(next, inner);
        });
    }
  }

  #remove({ fd }: OpenDirectory, name: string, entry: string): void {
    if (name === '' || name === '.' || name === '..') throw unfit(entry, 'which removes no file');
    rmSync(join(byDescriptor(fd), name), { recursive: true, force: true });
    this.close();
  }

  async #write(
    parent: OpenDirectory,
    name: string,
    entry: TarEntry,
    content: AsyncIterable<Buffer>,
  ): Promise<void> {
    const path = join(byDescriptor(parent.fd), name);
    if (entry.kind === 'file') {
      const { fd, replaces } = createFile(path);
      await this.#writeFile(fd, entry, content);
      this.#mark(parent.elements, name);
      if (replaces) this.close();
      return;
    }
    const isFolder = entry.kind === 'directory';
    const there = lstatSync(path, { throwIfNoEntry: false });
    const stays = isFolder && there?.isDirectory() === true;
    if (there && !stays) rmSync(path, { recursive: true, force: true });
    this.#mark(parent.elements, name);
    if (isFolder) {
      if (!stays) mkdirSync(path, { mode: 0o755 });
      this.#directories.set(pathOf(parent.elements.join('/'), name), entry);
    } else this.#writeOther(path, parent, entry);
    if (there && !stays) this.close(); // the names of directories may lead elsewhere now
  }

  async #writeFile(fd: number, entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void> {
    try {
      await writeContent(fd, entry, content);
      if (this.#options.asRoot) fchownSync(fd, entry.uid, entry.gid);
      fchmodSync(fd, entry.mode & 0o7777); // after the owner, a change of which clears the set-user-ID bit
      futimesSync(fd, timeOf(entry), timeOf(entry));
    } finally {
      closeSync(fd);
    }
  }

  /** Writes a link or a FIFO; devices are left out. */
  #writeOther(path: string, { fd }: OpenDirectory, entry: TarEntry): void {
    const { kind, linkname, uid, gid, mode } = entry;
    if (kind === 'symlink') {
      symlinkSync(linkname, path);
      if (this.#options.asRoot) lchownSync(path, uid, gid);
      lutimesSync(path, timeOf(entry), timeOf(entry));
    } else if (kind === 'link') this.#link(path, entry);
    else if (kind === 'fifo') {
      const outside = path.replace(byDescriptor(fd), `/proc/${process.pid}/fd/${fd}`);
      execFileSync('mkfifo', ['-m', '600', '--', outside], { stdio: 'ignore' });
      if (this.#options.asRoot) lchownSync(path, uid, gid);
      chmodSync(path, mode & 0o7777);
    }
  }

  /** Links a file of the image, which may be a link itself; that is not followed. */
  #link(path: string, { name, linkname }: TarEntry): void {
    elementsOf(linkname);
    const elements = elementsInRoot(this.#root, linkname, 'keep');
    const noFile = (): AgentError =>
      unfit(name, `a link to ${JSON.stringify(linkname)}, where there is no file`);
    try {
      inDirectoryBelow(this.#root, elements.slice(0, -1), {}, (directory) => {
        const target = join(directory, elements.at(-1) ?? '');
        const stat = lstatSync(target, { throwIfNoEntry: false });
        if (!stat || stat.isDirectory()) throw noFile();
        linkSync(target, path);
      });
    } catch (reason) {
      throw isGone(reason) ? noFile() : reason;
    }
  }

  /** Notes a path and the directories on the way to it as those of this layer. */
  #mark(parent: readonly string[], name: string): void {
    const elements = [...parent, name];
    for (let count = elements.length; count > 0; count--) {
      const path = elements.slice(0, count).join('/');
      if (this.#own.has(path)) return;
      this.#own.add(path);
    }
  }
}

/** Creates a file, in place of what is there. @returns its descriptor, and whether something was there */
function createFile(path: string): { readonly fd: number; readonly replaces: boolean } {
  try {
    return { fd: openSync(path, 'wx', 0o600), replaces: false };
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== 'EEXIST') throw reason;
    rmSync(path, { recursive: true, force: true });
    return { fd: openSync(path, 'wx', 0o600), replaces: true };
  }
}

/** Opens a directory below the root, following no link. Missing directories are created, what is none is replaced. */
function openMade(root: string, elements: readonly string[]): number {
  let fd = openSync(root, pathOnly | constants.O_DIRECTORY);
  try {
    for (const element of elements) {
      const path = join(byDescriptor(fd), element);
      const there = lstatSync(path, { throwIfNoEntry: false });
      if (there?.isDirectory() !== true) {
        if (there) rmSync(path, { force: true });
        mkdirSync(path, { mode: 0o755 });
      }
      const next = openSync(path, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      closeSync(fd);
      fd = next;
    }
    return fd;
  } catch (reason) {
    closeSync(fd);
    throw reason;
  }
}

function elementsOf(name: string): readonly string[] {
  const elements = name.split('/').filter((element) => element !== '' && element !== '.');
  if (!elements.includes('..') && !name.includes('\0')) return elements;
  throw unfit(name, 'which leads out of the image');
}

const unfit = (name: string, why: string): AgentError =>
  new AgentError('invalid_argument', `the layer holds ${JSON.stringify(name)}, ${why}`);

const pathOf = (parent: string, name: string): string => (parent === '' ? name : `${parent}/${name}`);

/** True for a path whose directories are not there any more, or are something else. */
function isGone(reason: unknown): boolean {
  if (reason instanceof AgentError) return reason.code === 'failed_precondition';
  return ['ENOENT', 'ENOTDIR'].includes((reason as NodeJS.ErrnoException).code ?? '');
}

/** Returns the time of an entry, s since the epoch. */
const timeOf = ({ mtime }: TarEntry): number => Math.max(0, mtime);
