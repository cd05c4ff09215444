import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { byteNames, bytePath, onDisk, textOfPath } from '../../base/files/byte-path.ts';
import { mountPointsSoon } from '../volumes/mounter.ts';

/** Disk space and inodes that a directory or file uses. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** Measures a path on disk; `undefined` when it does not exist. */
export type MeasureDisk = (path: string, signal?: AbortSignal) => Promise<DiskUsage | undefined>;

/**
 * Adds up a directory and its descendants: allocated blocks, so that holes count nothing; a file with several links counts once. Other file
 * systems mounted below are skipped without access, as they may hang. Links are not followed.
 *
 * Follows kubelet `fs.DiskUsage` (pkg/volume/util/fs).
 */
export const diskUsage: MeasureDisk = async (path, signal) => {
  const start = bytePath(path);
  const top = await statOf(start);
  if (!top) return undefined;
  const mounted: ReadonlySet<string> = top.isDirectory() ? await mountPointsSoon() : new Set();
  const walk = new Walk(top.dev, mounted, signal);
  await walk.add(start, top);
  return walk.sum;
};

class Walk {
  readonly #device: number;
  readonly #mounted: ReadonlySet<string>;
  readonly #signal: AbortSignal | undefined;
  readonly #linked = new Set<number>();
  #bytes = 0;
  #inodes = 0;

  constructor(device: number, mounted: ReadonlySet<string>, signal: AbortSignal | undefined) {
    this.#device = device;
    this.#mounted = mounted;
    this.#signal = signal;
  }

  get sum(): DiskUsage {
    return { bytes: this.#bytes, inodes: this.#inodes };
  }

  /** @param path as a string of bytes (latin1) */
  async add(path: string, stats: Stats): Promise<void> {
    if (stats.dev !== this.#device || this.#isCounted(stats)) return;
    this.#bytes += stats.blocks * blockBytes;
    this.#inodes++;
    if (!stats.isDirectory()) return;
    for (const name of await namesIn(path)) {
      this.#signal?.throwIfAborted();
      const child = join(path, name);
      const below = this.#mounted.has(textOfPath(child)) ? undefined : await statOf(child);
      if (below) await this.add(child, below);
    }
  }

  #isCounted({ ino, nlink }: Stats): boolean {
    if (nlink <= 1) return false;
    if (this.#linked.has(ino)) return true;
    this.#linked.add(ino);
    return false;
  }
}

/** Unit of `st_blocks`, independent of the file system's block size. */
const blockBytes = 512;

/** Ignores entries that were deleted since they were listed. */
const unlessGone = (reason: unknown): undefined => {
  if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw reason;
};

const statOf = (path: string): Promise<Stats | undefined> => lstat(onDisk(path)).catch(unlessGone);

const namesIn = async (path: string): Promise<readonly string[]> =>
  (await readdir(onDisk(path), byteNames).catch(unlessGone)) ?? [];
