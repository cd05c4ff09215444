import { constants, watch } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Observable } from 'rxjs';
import { yamlText } from '../go/yaml/reader.ts';
import type { FileChange } from './file-source.ts';
import type { ManifestFileSystem } from './manifest-files.ts';

/** The machine's file system, for manifests. */
export const nodeFiles: ManifestFileSystem = {
  kindOf: async (path) => {
    const found = await stat(path);
    return found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other';
  },
  namesIn: (path) => readdir(path),
  readText: async (path, maxBytes) => {
    if ((await nodeFiles.kindOf(path)) === 'other') throw notAFile();
    // should it have become a pipe meanwhile: opening one that nobody writes to would wait for ever
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return await readWhole(file, maxBytes);
    } finally {
      await file.close();
    }
  },
};

async function readWhole(file: FileHandle, maxBytes: number): Promise<string> {
  const found = await file.stat();
  if (!found.isFile() && !found.isDirectory()) throw notAFile();
  // one byte more than allowed, to know that there is more; the size that the system tells may be wrong
  const buffer = Buffer.alloc(Math.min(found.size, maxBytes) + 1);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  if (bytesRead > maxBytes) throw Object.assign(new Error('file too large'), { code: 'EFBIG' });
  return yamlText(buffer.subarray(0, bytesRead));
}

const notAFile = (): Error => new Error('it is neither a file nor a directory');

/** Changes in a directory, or of a file, by inotify. Fails when the path vanishes or is replaced. */
export function watchFiles(path: string): Observable<FileChange> {
  return new Observable((listener) => {
    const ended = new AbortController();
    const fail = (reason: unknown): void => {
      listener.error(reason);
    };
    const begin = async (): Promise<void> => {
      const watched = await identityOf(path);
      const isDirectory = (await nodeFiles.kindOf(path)) === 'directory';
      if (ended.signal.aborted) return;
      const watcher = watch(path, { signal: ended.signal, persistent: false });
      const names = new WatchedNames((change) => {
        listener.next(change);
      });
      watcher.on('error', fail);
      watcher.on('change', (event, name) => {
        const file = isDirectory ? join(path, String(name)) : path;
        if (event === 'change') {
          // it is read once it is known whether the name came or went: before that, it might be taken for removed after
          if (names.isLookedAt(file)) return;
          names.add(file);
          listener.next({ events: ['WRITE'], file });
        } else
          void (async () => {
            await names.cameOrWent(file);
            if ((await identityOf(path)) !== watched) throw new Error(`${basename(path)} was replaced`);
          })().catch(fail);
      });
      if (isDirectory) for (const name of await readdir(path)) names.add(join(path, name));
    };
    begin().catch(fail);
    return () => {
      ended.abort();
    };
  });
}

/** Tells a file from another one in its place. Its number alone does not: many file systems give that of a removed file to the next one. */
async function identityOf(path: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, birthtimeNs].join(' ');
}

/**
 * Tells names that came from those that went, which Node.js does not. A name that was there, changed hands twice and is there has
 * gone in between: it is told as gone and come back, so that its pod ends and starts anew, as the kubelet has it.
 */
class WatchedNames {
  readonly #tell: (change: FileChange) => void;
  readonly #present = new Set<string>();
  /** How often those names came or went that are being looked at. */
  readonly #turns = new Map<string, number>();

  constructor(tell: (change: FileChange) => void) {
    this.#tell = tell;
  }

  /** The file is there. */
  add(file: string): void {
    if (!this.#turns.has(file)) this.#present.add(file);
  }

  /** Whether it came or went is about to be told. */
  isLookedAt(file: string): boolean {
    return this.#turns.has(file);
  }

  /** The file came or went: looks which of the two. One look does for all that happens while it lasts. */
  async cameOrWent(file: string): Promise<void> {
    const before = this.#turns.get(file) ?? 0;
    this.#turns.set(file, before + 1);
    if (before > 0) return;
    let turns = 0;
    let exists = false;
    for (let now = 1; now !== turns; now = this.#turns.get(file) ?? 0) {
      turns = now;
      exists = await isThere(file);
      // what came before the look may still wait in the kernel: a file made anew between its going and the look would seem replaced
      await nextTurn();
    }
    this.#turns.delete(file);
    if (exists && turns > 1 && this.#present.has(file)) this.#tell({ events: ['REMOVE'], file });
    if (exists) this.#present.add(file);
    else this.#present.delete(file);
    this.#tell({ events: [exists ? 'CREATE' : 'REMOVE'], file });
  }
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
