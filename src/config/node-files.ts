import { watch } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Observable } from 'rxjs';
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
    await using file = await open(path, 'r');
    // one byte more than allowed, to know that there is more; the size that the system tells may be wrong
    const buffer = Buffer.alloc(Math.min((await file.stat()).size, maxBytes) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > maxBytes) throw Object.assign(new Error('file too large'), { code: 'EFBIG' });
    return buffer.toString('utf8', 0, bytesRead);
  },
};

/** Changes in a directory, or of a file, by inotify. Fails when the path vanishes or is replaced. */
export function watchFiles(path: string): Observable<FileChange> {
  return new Observable((listener) => {
    const ended = new AbortController();
    const fail = (reason: unknown): void => {
      listener.error(reason);
    };
    const begin = async (): Promise<void> => {
      const { ino } = await stat(path);
      const isDirectory = (await nodeFiles.kindOf(path)) === 'directory';
      if (ended.signal.aborted) return;
      const watcher = watch(path, { signal: ended.signal, persistent: false });
      watcher.on('error', fail);
      watcher.on('change', (event, name) => {
        const file = isDirectory ? join(path, String(name)) : path;
        if (event === 'change') listener.next({ events: ['WRITE'], file });
        else
          void tellRename(file, { ino, path }).then((change) => {
            listener.next(change);
          }, fail);
      });
    };
    begin().catch(fail);
    return () => {
      ended.abort();
    };
  });
}

/** A name came or went: which of the two, and whether what is watched is still there. */
async function tellRename(file: string, watched: { ino: number; path: string }): Promise<FileChange> {
  const exists = await stat(file).then(
    () => true,
    () => false,
  );
  const still = await stat(watched.path);
  if (still.ino !== watched.ino) throw new Error(`${basename(watched.path)} was replaced`);
  return { events: [exists ? 'CREATE' : 'REMOVE'], file };
}
