import { type FileHandle, mkdir, open, readdir, readlink, rm, symlink } from 'node:fs/promises';
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
  /** Where a link points to; `undefined`: no such link. */
  linkTarget(link: string): Promise<string | undefined>;
  /** The last `limit` bytes of a file. @throws when it cannot be read, with `code` ENOENT if there is none */
  readEnd(path: string, limit: number): Promise<Buffer>;
}

/** The machine's own disk. */
export const nodeFiles: RuntimeFiles = {
  async makeDirectory(path) {
    await mkdir(path, { recursive: true, mode: 0o755 });
  },
  async makeFile(path, mode) {
    const file = await opened(path, mode);
    await file.chmod(mode).finally(() => file.close()); // whatever the umask
  },
  filesIn: (path) => entries(path, false),
  directoriesIn: (path) => entries(path, true),
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
  async link(target, link) {
    await rm(link, { force: true });
    await symlink(target, link);
  },
  linkTarget: (link) => readlink(link).catch(() => undefined),
  async readEnd(path, limit) {
    const file = await open(path);
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

/** A new or emptied file; its folders are made where they are missing. */
async function opened(path: string, mode: number): Promise<FileHandle> {
  try {
    return await open(path, 'w', mode);
  } catch (reason) {
    if (!hasCode(reason, 'ENOENT')) throw reason;
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    return open(path, 'w', mode);
  }
}

async function entries(path: string, directories: boolean): Promise<string[]> {
  const found = await readdir(path, { withFileTypes: true }).catch((reason: unknown) => {
    if (hasCode(reason, 'ENOENT')) return [];
    throw reason;
  });
  return found.filter((entry) => entry.isDirectory() === directories).map(({ name }) => name);
}

/** Whether a file system call failed with this code. */
export const hasCode = (reason: unknown, code: string): boolean =>
  reason instanceof Error && 'code' in reason && reason.code === code;
