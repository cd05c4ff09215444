import { createReadStream } from 'node:fs';
import { PassThrough, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { AgentError, messageOf } from '../../base/errors.ts';

/** The bytes that are read and decompressed at a time: more of them cost less turns between threads. */
const pieceBytes = 256 * 1024;

/** How an archive is read. */
export interface TarReading {
  /** The subject of the error message for a damaged archive, such as `the layer`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  /** Receives the uncompressed archive. */
  readonly onBytes?: (part: Buffer) => void;
}

/**
 * Reads a tar archive, compressed with gzip, zstd or not at all, entry by entry. What `act` does not read of a content is skipped.
 *
 * @throws {AgentError} `invalid_argument` for a damaged archive; what `act` throws; the signal's reason
 */
export async function readTar(
  path: string,
  { what, signal, onBytes }: TarReading,
  act: (header: Header, content: AsyncIterable<Buffer>) => Promise<void> | void,
): Promise<void> {
  const archive = extract();
  const measured = new PassThrough();
  if (onBytes) measured.on('data', onBytes);
  const stages = [
    createReadStream(path, { highWaterMark: pieceBytes }),
    ...(await decompressor(path)),
    measured,
  ];
  const feeding = pipeline([...stages, archive as unknown as NodeJS.WritableStream], {
    ...(signal && { signal }),
  });
  feeding.catch((cause: unknown) => {
    archive.destroy(cause instanceof Error ? cause : undefined);
  });
  try {
    for await (const entry of archive) {
      await act(entry.header, entry as AsyncIterable<Buffer>);
      entry.resume();
    }
    await feeding;
  } catch (cause) {
    archive.destroy();
    await feeding.catch(() => undefined);
    signal?.throwIfAborted();
    if (cause instanceof AgentError || isSystemFault(cause)) throw cause;
    throw new AgentError('invalid_argument', `${what} cannot be unpacked: ${messageOf(cause)}`, { cause });
  }
}

/** True for a fault of the machine, such as a full disk, which is none of the archive. */
const isSystemFault = (cause: unknown): boolean =>
  cause instanceof Error && (cause as NodeJS.ErrnoException).syscall !== undefined;

/** Returns the decompressor for a file by its first bytes: gzip, zstd or none. */
export async function decompressor(path: string): Promise<readonly Transform[]> {
  const parts: Buffer[] = [];
  for await (const part of createReadStream(path, { end: 3 }) as AsyncIterable<Buffer>) parts.push(part);
  const head = Buffer.concat(parts).toString('hex');
  if (head.startsWith('1f8b')) return [zlib.createGunzip({ chunkSize: pieceBytes })];
  return head === '28b52ffd' ? [zlib.createZstdDecompress({ chunkSize: pieceBytes })] : [];
}
