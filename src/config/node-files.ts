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
    // If it became a pipe meanwhile, opening it without a writer would block for ever.
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
  // One byte more than allowed, to detect a longer file; the size from stat may be wrong.
  const buffer = Buffer.alloc(Math.min(found.size, maxBytes) + 1);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  if (bytesRead > maxBytes) throw Object.assign(new Error('file too large'), { code: 'EFBIG' });
  return yamlText(buffer.subarray(0, bytesRead));
}

const notAFile = (): Error => new Error('it is neither a file nor a directory');

/**
 * Emits changes in a directory or of a file, by inotify. Fails when the path disappears or is replaced.
 *
 * @example
 * const subscription = watchFiles('/etc/kubernetes/manifests').subscribe(() => list());
 */
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
          // Read later, once the pending check knows whether the name appeared or disappeared: read now, it might be reported as removed
          // afterwards.
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

/** Returns an identity that differs for a replaced file. The inode alone does not: many file systems reuse it for the next file. */
async function identityOf(path: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, birthtimeNs].join(' ');
}

/**
 * WatchedNames tells names that appeared from names that disappeared, which Node.js does not. A name that existed, changed twice and
 * exists was replaced: it is reported as removed and created, so that its pod is restarted, as by the kubelet.
 */
class WatchedNames {
  readonly #tell: (change: FileChange) => void;
  readonly #present = new Set<string>();
  /** The number of events of each name while it is being checked. */
  readonly #turns = new Map<string, number>();

  constructor(tell: (change: FileChange) => void) {
    this.#tell = tell;
  }

  /** Records an existing file. */
  add(file: string): void {
    if (!this.#turns.has(file)) this.#present.add(file);
  }

  /** Reports whether a check of the file is in progress. */
  isLookedAt(file: string): boolean {
    return this.#turns.has(file);
  }

  /** Handles the appearance or disappearance of a file by checking which one it was. One check covers all events during it. */
  async cameOrWent(file: string): Promise<void> {
    const before = this.#turns.get(file) ?? 0;
    this.#turns.set(file, before + 1);
    if (before > 0) return;
    let turns = 0;
    let exists = false;
    for (let now = 1; now !== turns; now = this.#turns.get(file) ?? 0) {
      turns = now;
      exists = await isThere(file);
      // Earlier events may still be queued in the kernel: without this, a file that was created between its removal and the check would
      // seem replaced.
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
