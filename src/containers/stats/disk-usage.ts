import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { byteNames, bytePath, onDisk, textOfPath } from '../../base/files/byte-path.ts';
import { mountPointsSoon } from '../volumes/mounter.ts';

/** What a folder or file takes on its disk. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** Measures a path on disk; `undefined`: there is nothing. */
export type MeasureDisk = (path: string, signal?: AbortSignal) => Promise<DiskUsage | undefined>;

/**
 * Adds up a folder with all below it: blocks in use, so that holes cost nothing; a file with several names counts once; other file
 * systems mounted below are left out, even without a look: they may answer no more. No link is followed.
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

  /** @param path by its bytes */
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

/** The unit of `st_blocks`, whatever the file system's own blocks are. */
const blockBytes = 512;

/** What was deleted since it was listed counts nothing. */
const unlessGone = (reason: unknown): undefined => {
  if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw reason;
};

const statOf = (path: string): Promise<Stats | undefined> => lstat(onDisk(path)).catch(unlessGone);

const namesIn = async (path: string): Promise<readonly string[]> =>
  (await readdir(onDisk(path), byteNames).catch(unlessGone)) ?? [];
