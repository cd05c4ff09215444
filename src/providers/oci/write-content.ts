import { ftruncateSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { TarEntry } from './tar-header.ts';
import type { SparseMap } from './tar-sparse.ts';

/** The size up to which a file is written at once, bytes: for small files the way to another thread costs more than the file. */
const smallBytes = 256 * 1024;
const writeInThread = promisify(write);

/** Writes the content of an entry into an empty file. A sparse file gets its holes. */
export async function writeContent(
  fd: number,
  { size, sparse }: Pick<TarEntry, 'size' | 'sparse'>,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  if (sparse) {
    await writeSparse(fd, sparse, content);
    return;
  }
  const isSmall = size <= smallBytes;
  for await (const part of content)
    for (let at = 0; at < part.length;)
      at += isSmall ? writeSync(fd, part, at) : (await writeInThread(fd, part, at)).bytesWritten;
}

async function writeSparse(
  fd: number,
  { realSize, parts }: SparseMap,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const runs = parts.filter(({ size }) => size > 0).values();
  let [position, left] = [0, 0];
  for await (const part of content)
    for (let at = 0; at < part.length;) {
      if (left === 0) {
        const { offset, size } = runs.next().value ?? { offset: position, size: part.length - at };
        [position, left] = [offset, size];
      }
      const count = writeSync(fd, part, at, Math.min(left, part.length - at), position);
      at += count;
      position += count;
      left -= count;
    }
  ftruncateSync(fd, realSize);
}
