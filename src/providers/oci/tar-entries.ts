import { createReadStream } from 'node:fs';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { AgentError, messageOf } from '../../base/errors.ts';
import { entryOf, extensionOf, headerOf, type TarEntry, type TarExtension } from './tar-header.ts';
import { blockBytes } from './tar-numbers.ts';
import {
  linesOfMap,
  sparseMap,
  sparseOfBlock,
  sparseOfText,
  type SparsePart,
  type SparseSource,
} from './tar-sparse.ts';
import { isZstd, ZstdPieces } from './zstd-pieces.ts';

/** The bytes that are read and decompressed at a time: more of them cost less turns between threads. */
const pieceBytes = 256 * 1024;

/** The maximum length of the name of an entry and of a link's target, bytes: Linux knows no longer paths. */
const maxNameBytes = 4096;
/** The maximum size of one extended header, bytes. */
const maxExtensionBytes = 1024 * 1024;
/** The maximum number of extended headers in a row. */
const maxExtensions = 16;
/** The maximum number of bytes after the end of the archive, which writers of tapes fill up. */
const maxTrailingBytes = 16 * 1024 * 1024;

/** How an archive is read. */
export interface TarReading {
  /** The subject of the error message for a damaged archive, such as `the layer`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  /** Receives the uncompressed archive. */
  readonly onBytes?: (part: Buffer) => void;
}

/**
 * Reads a tar archive, compressed with gzip, zstd or not at all, entry by entry. What `act` does not read of a content is skipped. Names,
 * extended headers and what follows the end have limits, so that memory does not grow with the archive.
 *
 * @throws {AgentError} `invalid_argument` for a damaged archive, `resource_exhausted` beyond a limit; what `act` throws; the signal's reason
 */
export async function readTar(
  path: string,
  { what, signal, onBytes }: TarReading,
  act: (entry: TarEntry, content: AsyncIterable<Buffer>) => Promise<void> | void,
): Promise<void> {
  const [first, second] = await decompressors(path);
  const file = createReadStream(path, { highWaterMark: pieceBytes });
  const options = { ...(signal && { signal }) };
  const read = async (source: AsyncIterable<Buffer>): Promise<void> => {
    await new TarReader(source, what, onBytes).run(act);
  };
  try {
    if (!first) await pipeline(file, read, options);
    else if (!second) await pipeline(file, first, read, options);
    else await pipeline(file, first, second, read, options);
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof AgentError || isSystemFault(cause)) throw cause;
    throw new AgentError('invalid_argument', `${what} cannot be unpacked: ${messageOf(cause)}`, { cause });
  }
}

/** TarReader takes an archive apart. */
class TarReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #what: string;
  readonly #onBytes: ((part: Buffer) => void) | undefined;
  /** The part that is being read, and how far. */
  #part: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(source: AsyncIterable<Buffer>, what: string, onBytes: ((part: Buffer) => void) | undefined) {
    this.#source = source[Symbol.asyncIterator]();
    this.#what = what;
    this.#onBytes = onBytes;
  }

  async run(act: (entry: TarEntry, content: AsyncIterable<Buffer>) => Promise<void> | void): Promise<void> {
    let global: TarExtension = {};
    let own: TarExtension = {};
    for (let extensions = 0; ;) {
      const block = await this.#block();
      if (!block) return;
      const header = headerOf(block);
      if (header.extension !== undefined) {
        if (++extensions > maxExtensions)
          throw this.#exhausted(`more than ${maxExtensions} extended headers in a row`);
        const found = extensionOf(header.extension, await this.#extension(header.size));
        if (header.extension === 'pax-global') global = { ...global, ...found };
        else own = { ...own, ...found };
        continue;
      }
      const { entry: plain, source } = entryOf(header, { ...global, ...own });
      const entry = source ? await this.#sparse(plain, source) : plain;
      for (const text of [entry.name, entry.linkname])
        if (Buffer.byteLength(text) > maxNameBytes)
          throw this.#exhausted(
            `a name of more than ${maxNameBytes} bytes: ${JSON.stringify(text.slice(0, 60))}…`,
          );
      [extensions, own] = [0, {}];
      const content = new Content(entry.size, (most) => this.#some(most));
      await act(entry, content);
      await content.skip();
      await this.#skip(paddingOf(entry.size));
    }
  }

  /** Returns the next header block; `undefined` at the end of the archive, up to which everything has been read then. */
  async #block(): Promise<Buffer | undefined> {
    const block = await this.#exactly(blockBytes, { orEnd: true });
    if (block && !block.equals(zeros)) return block;
    for (let left = maxTrailingBytes; ;) {
      const part = await this.#some(Number.POSITIVE_INFINITY);
      if (!part) return undefined;
      left -= part.length;
      if (left < 0) throw this.#exhausted(`more than ${maxTrailingBytes} bytes after its end`);
    }
  }

  /** Reads the rest of the map of a sparse file. @returns the entry with the map, and the size of what is left of its content */
  async #sparse(entry: TarEntry, { realSize, parts: first, goesOn }: SparseSource): Promise<TarEntry> {
    const parts = [...first];
    let { size } = entry;
    if (goesOn === 'in-blocks') parts.push(...(await this.#partsInBlocks()));
    if (goesOn === 'in-content') {
      const { found, bytes } = await this.#partsInContent();
      parts.push(...found);
      size -= bytes;
    }
    try {
      return { ...entry, size, sparse: sparseMap(realSize, parts, size) };
    } catch (cause) {
      throw new Error(`${JSON.stringify(entry.name.slice(0, 100))}: ${messageOf(cause)}`, { cause });
    }
  }

  async #partsInBlocks(): Promise<readonly SparsePart[]> {
    const all: SparsePart[] = [];
    for (let bytes = 0; ;) {
      bytes += blockBytes;
      if (bytes > maxExtensionBytes) throw this.#exhausted(tooManyParts);
      const { parts, goesOn } = sparseOfBlock((await this.#exactly(blockBytes)) ?? zeros);
      all.push(...parts);
      if (!goesOn) return all;
    }
  }

  async #partsInContent(): Promise<{ readonly found: readonly SparsePart[]; readonly bytes: number }> {
    let [text, lines] = ['', 0];
    for (let total: number | undefined; total === undefined || lines < total;) {
      const next = ((await this.#exactly(blockBytes)) ?? zeros).toString('latin1');
      text += next;
      if (text.length > maxExtensionBytes) throw this.#exhausted(tooManyParts);
      lines += next.split('\n').length - 1;
      total ??= linesOfMap(text);
    }
    return { found: sparseOfText(text), bytes: text.length };
  }

  #exhausted(what: string): AgentError {
    return new AgentError('resource_exhausted', `${this.#what} has ${what}`);
  }

  async #extension(size: number): Promise<Buffer> {
    if (!(size >= 0 && size <= maxExtensionBytes))
      throw this.#exhausted(`an extended header of ${size} bytes, at most ${maxExtensionBytes} are read`);
    const content = (await this.#exactly(size)) ?? Buffer.alloc(0);
    await this.#skip(paddingOf(size));
    return content;
  }

  async #exactly(size: number, { orEnd = false } = {}): Promise<Buffer | undefined> {
    const first = await this.#some(size);
    if (first?.length === size) return first;
    if (!first && orEnd) return undefined;
    const parts = first ? [first] : [];
    for (let left = size - (first?.length ?? 0); left > 0;) {
      const part = await this.#some(left);
      if (!part) throw new Error('the archive ends early');
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async #skip(size: number): Promise<void> {
    for (let left = size; left > 0;) {
      const part = await this.#some(left);
      if (!part) throw new Error('the archive ends early');
      left -= part.length;
    }
  }

  /** Returns the next bytes, at most `most`; `undefined` at the end. */
  async #some(most: number): Promise<Buffer | undefined> {
    while (this.#at >= this.#part.length) {
      const next = await this.#source.next();
      if (next.done === true) return undefined;
      this.#onBytes?.(next.value);
      [this.#part, this.#at] = [next.value, 0];
    }
    const from = this.#at;
    this.#at = Math.min(this.#part.length, from + most);
    return this.#part.subarray(from, this.#at);
  }
}

/** Content is the content of one entry, in parts as they come. */
class Content implements AsyncIterable<Buffer> {
  #left: number;
  readonly #some: (most: number) => Promise<Buffer | undefined>;

  constructor(size: number, some: (most: number) => Promise<Buffer | undefined>) {
    this.#left = size;
    this.#some = some;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    while (this.#left > 0) yield await this.#next();
  }

  async skip(): Promise<void> {
    while (this.#left > 0) await this.#next();
  }

  async #next(): Promise<Buffer> {
    const part = await this.#some(this.#left);
    if (!part) throw new Error('the archive ends early');
    this.#left -= part.length;
    return part;
  }
}

const tooManyParts = `a sparse file whose map has more than ${maxExtensionBytes} bytes`;
const zeros = Buffer.alloc(blockBytes);
const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;

/** True for a fault of the machine, such as a full disk, which is none of the archive. */
const isSystemFault = (cause: unknown): boolean =>
  cause instanceof Error && (cause as NodeJS.ErrnoException).syscall !== undefined;

/** Returns what decompresses a file by its first bytes, gzip or zstd; nothing for one that is not compressed. */
export async function decompressors(path: string): Promise<readonly Transform[]> {
  const parts: Buffer[] = [];
  for await (const part of createReadStream(path, { end: 3 }) as AsyncIterable<Buffer>) parts.push(part);
  const head = Buffer.concat(parts);
  if (head.toString('hex').startsWith('1f8b')) return [zlib.createGunzip({ chunkSize: pieceBytes })];
  return isZstd(head) ? [new ZstdPieces(), zlib.createZstdDecompress({ chunkSize: pieceBytes })] : [];
}
