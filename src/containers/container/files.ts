import { closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { open, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What `kuberuntime` does on disk: log folders and links, and the end of termination logs. */
export interface RuntimeFiles {
  makeDirectory(path: string): Promise<void>;
  /** Makes an empty file, and the folders above it, with exactly these rights. */
  makeFile(path: string, mode: number): Promise<void>;
  /** Names of the plain entries in a folder; none if it is not there. */
  filesIn(path: string): Promise<readonly string[]>;
  /** Names of the folders in a folder; none if it is not there. */
  directoriesIn(path: string): Promise<readonly string[]>;
  /** Removes a file or folder; one that is not there is gone already. */
  remove(path: string): Promise<void>;
  /** Makes `link` point to `target`, whatever it was before. */
  link(target: string, link: string): Promise<void>;
  /** Whether there is something at a path; a link is what it leads to. */
  exists(path: string): Promise<boolean>;
  /** The last `limit` bytes of a file. @throws when it cannot be read, with `code` ENOENT if there is none */
  readEnd(path: string, limit: number): Promise<Buffer>;
}

/**
 * The machine's own disk. What lies between a pod and its start, and touches next to nothing, is done at once: handing it to the pool of
 * threads takes longer, most of all on a node that is busy.
 */
export const nodeFiles: RuntimeFiles = {
  makeDirectory: (path) =>
    settled(() => {
      mkdirSync(path, { recursive: true, mode: 0o755 });
    }),
  makeFile: (path, mode) =>
    settled(() => {
      const file = opened(path, mode);
      try {
        fchmodSync(file, mode); // whatever the umask
      } finally {
        closeSync(file);
      }
    }),
  filesIn: (path) => settled(() => entries(path, false)),
  directoriesIn: (path) => settled(() => entries(path, true)),
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
  async link(target, link) {
    await rm(link, { force: true });
    await symlink(target, link);
  },
  exists: (path) => settled(() => existsSync(path)),
  async readEnd(path, limit) {
    // a container may have made a pipe of it: that opens at once, and holds nothing
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      const length = Math.min(size, limit);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
};

/** What an act at once comes to, as a promise. */
const settled = async <T>(act: () => T): Promise<T> => act();

/** A new or emptied file; its folders are made where they are missing. */
function opened(path: string, mode: number): number {
  try {
    return openSync(path, 'w', mode);
  } catch (reason) {
    if (!hasCode(reason, 'ENOENT')) throw reason;
    mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
    return openSync(path, 'w', mode);
  }
}

function entries(path: string, directories: boolean): string[] {
  try {
    const found = readdirSync(path, { withFileTypes: true });
    return found.filter((entry) => entry.isDirectory() === directories).map(({ name }) => name);
  } catch (reason) {
    if (hasCode(reason, 'ENOENT')) return [];
    throw reason;
  }
}

/** Whether a file system call failed with this code. */
export const hasCode = (reason: unknown, code: string): boolean =>
  reason instanceof Error && 'code' in reason && reason.code === code;
