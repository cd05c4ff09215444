import { closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { open, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** RuntimeFiles is the file access of `kuberuntime`: log directories and links, and reading termination logs. */
export interface RuntimeFiles {
  makeDirectory(path: string): Promise<void>;
  /** Creates an empty file with exactly this mode, and its missing parent directories. */
  makeFile(path: string, mode: number): Promise<void>;
  /** Returns the names of entries that are not directories; empty when the directory does not exist. */
  filesIn(path: string): Promise<readonly string[]>;
  /** Returns the names of the directories in a directory; empty when it does not exist. */
  directoriesIn(path: string): Promise<readonly string[]>;
  /** Removes a file or directory; succeeds when it does not exist. */
  remove(path: string): Promise<void>;
  /** Creates or replaces the symbolic link `link` to `target`. */
  link(target: string, link: string): Promise<void>;
  /** True when the path exists; links are followed. */
  exists(path: string): Promise<boolean>;
  /** Returns the last `limit` bytes of a file. @throws when it cannot be read; with `code` ENOENT when it does not exist */
  readEnd(path: string, limit: number): Promise<Buffer>;
}

/**
 * RuntimeFiles on the machine's disk. Small operations on the path of a pod's start are synchronous: going through Node's thread pool takes
 * longer, above all on a busy node.
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
        fchmodSync(file, mode); // regardless of the umask
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
    // A container may have replaced the file by a FIFO; with O_NONBLOCK the open does not hang.
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

/** Runs a synchronous operation as a promise. */
const settled = async <T>(act: () => T): Promise<T> => act();

/** Opens a new or truncated file and creates its missing parent directories. */
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

/** True when a file system call failed with this error code. */
export const hasCode = (reason: unknown, code: string): boolean =>
  reason instanceof Error && 'code' in reason && reason.code === code;
