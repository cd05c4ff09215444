import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createWriteStream,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Header } from 'tar-stream';
import { AgentError } from '../../base/errors.ts';
import { elementsInRoot, pathInRoot } from './in-root.ts';
import { readTar } from './tar-entries.ts';

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
 * resolved as if `root` were the root directory, so nothing is written outside it. Devices are left out: containers get a `/dev` of their
 * own. Nothing else may write to `root` meanwhile.
 *
 * @throws {AgentError} `invalid_argument` with the entry for an archive that is damaged or leads out of the root, `resource_exhausted`
 * beyond the limits
 */
export async function unpackLayer(blob: string, root: string, options: UnpackOptions): Promise<string> {
  const layer = new Layer(root, options);
  const hash = createHash('sha256');
  const { signal } = options;
  await readTar(
    blob,
    { what: 'the layer', signal, onBytes: (part) => hash.update(part) },
    (header, content) => layer.add(header, content),
  );
  layer.finish();
  return `sha256:${hash.digest('hex')}`;
}

/** Layer writes the entries of one layer. */
class Layer {
  readonly #root: string;
  readonly #options: UnpackOptions;
  /** Paths that this layer has written, which its opaque directories keep. */
  readonly #own = new Set<string>();
  /** The directory of the last entry, as most entries follow one of the same; forgotten when anything is removed. */
  #parent: { readonly name: string; readonly path: string } | undefined;
  /** Modes and times of directories, set last: writing into them would change or need them. */
  readonly #directories = new Map<string, Header>();

  constructor(root: string, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
  }

  async add(header: Header, content: AsyncIterable<Buffer>): Promise<void> {
    this.#count(header);
    const elements = this.#elementsOf(header.name);
    const name = elements.at(-1);
    if (name === undefined) {
      if (header.type === 'directory') this.#directories.set(this.#root, header);
      return;
    }
    const parent = this.#parentOf(elements);
    if (name === opaque) this.#clear(parent);
    else if (name.startsWith(whiteout)) this.#remove(parent, name.slice(whiteout.length), header.name);
    else await this.#write(join(parent, name), header, content);
  }

  /** Sets modes and times of directories, inner ones first. */
  finish(): void {
    for (const [path, header] of [...this.#directories].reverse()) {
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
      this.#setOwner(path, header);
      utimesSync(path, timeOf(header), timeOf(header));
    }
  }

  #count({ name, size }: Header): void {
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

  #elementsOf(name: string): readonly string[] {
    const elements = name.split('/').filter((element) => element !== '' && element !== '.');
    if (!elements.includes('..') && !name.includes('\0')) return elements;
    throw new AgentError(
      'invalid_argument',
      `the layer holds ${JSON.stringify(name)}, which leads out of the image`,
    );
  }

  /** Returns the directory of an entry, created when it is missing. */
  #parentOf(elements: readonly string[]): string {
    const name = elements.slice(0, -1).join('/');
    if (this.#parent?.name !== name) this.#parent = { name, path: this.#makeParent(name) };
    return this.#parent.path;
  }

  #makeParent(name: string): string {
    const parent = elementsInRoot(this.#root, name);
    let path = this.#root;
    for (const element of parent) {
      path = join(path, element);
      const there = lstatSync(path, { throwIfNoEntry: false });
      if (there?.isDirectory() === true) continue;
      if (there) rmSync(path, { force: true });
      mkdirSync(path, { mode: 0o755 });
    }
    return path;
  }

  /** Removes what the layers below have in a directory. */
  #clear(directory: string): void {
    this.#parent = undefined;
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (!this.#own.has(path)) rmSync(path, { recursive: true, force: true });
      else if (lstatSync(path).isDirectory()) this.#clear(path);
    }
  }

  #remove(parent: string, name: string, entry: string): void {
    if (name === '' || name === '.' || name === '..')
      throw new AgentError(
        'invalid_argument',
        `the layer holds ${JSON.stringify(entry)}, which removes no file`,
      );
    this.#parent = undefined;
    rmSync(join(parent, name), { recursive: true, force: true });
  }

  async #write(path: string, header: Header, content: AsyncIterable<Buffer>): Promise<void> {
    const isFolder = header.type === 'directory';
    const there = lstatSync(path, { throwIfNoEntry: false });
    const stays = isFolder && there?.isDirectory() === true;
    if (there && !stays) {
      this.#parent = undefined;
      rmSync(path, { recursive: true, force: true });
    }
    this.#mark(path);
    if (isFolder) {
      if (!stays) mkdirSync(path, { mode: 0o755 });
      this.#directories.set(path, header);
    } else if (header.type === 'file' || header.type === 'contiguous-file') {
      await writeContent(path, header.size, content);
      this.#setOwner(path, header);
      utimesSync(path, timeOf(header), timeOf(header));
    } else this.#writeOther(path, header);
  }

  /** Writes a link or a FIFO; devices and kinds that no file system has are left out. */
  #writeOther(path: string, header: Header): void {
    if (header.type === 'symlink') {
      symlinkSync(header.linkname, path);
      if (this.#options.asRoot) lchownSync(path, header.uid, header.gid);
      lutimesSync(path, timeOf(header), timeOf(header));
    } else if (header.type === 'link') this.#link(path, header);
    else if (header.type === 'fifo') {
      execFileSync('mkfifo', ['-m', '600', '--', path], { stdio: 'ignore' });
      this.#setOwner(path, header);
    }
  }

  #link(path: string, { name, linkname }: Header): void {
    this.#elementsOf(linkname);
    const target = pathInRoot(this.#root, linkname, 'keep');
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (!stat || stat.isDirectory())
      throw new AgentError(
        'invalid_argument',
        `the layer holds ${JSON.stringify(name)}, a link to ${JSON.stringify(linkname)}, where there is no file`,
      );
    linkSync(target, path);
  }

  #mark(path: string): void {
    for (let at = path; at.length > this.#root.length; at = dirname(at)) {
      if (this.#own.has(at)) return;
      this.#own.add(at);
    }
  }

  /** Sets owner, then mode: a change of the owner clears the set-user-ID bit. */
  #setOwner(path: string, { uid, gid, mode }: Header): void {
    if (this.#options.asRoot) lchownSync(path, uid, gid);
    const bits = mode & 0o7777;
    chmodSync(path, this.#options.asRoot || !this.#directories.has(path) ? bits : bits | 0o700);
  }
}

/** The size up to which a file is written in one piece, bytes: for small files a stream costs more than the file. */
const smallBytes = 256 * 1024;

async function writeContent(path: string, size: number, content: AsyncIterable<Buffer>): Promise<void> {
  if (size > smallBytes) {
    await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    return;
  }
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  writeFileSync(path, parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts), {
    flag: 'wx',
    mode: 0o600,
  });
}

/** Returns the time of an entry, s since the epoch. */
const timeOf = ({ mtime }: Header): number => Math.max(0, mtime.getTime() / 1000);
