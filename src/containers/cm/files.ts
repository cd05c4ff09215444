import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';

/** CgroupFiles is the file system in which the kernel presents cgroups. Paths are absolute. */
export interface CgroupFiles {
  exists(path: string): boolean;
  /** Returns the names of the directories in a directory, without links; empty when it does not exist. */
  folders(path: string): readonly string[];
  /** Returns the text of a file; `undefined` when it does not exist or cannot be read. */
  read(path: string): string | undefined;
  /** @throws the kernel's error */
  write(path: string, text: string): void;
  /** Creates one directory; succeeds when it exists. @throws the kernel's error */
  makeFolder(path: string): void;
  /** Removes one directory; succeeds when it does not exist. @throws the kernel's error: `EBUSY` while it has processes or children */
  removeFolder(path: string): void;
}

const unless = (code: string, act: () => void): void => {
  try {
    act();
  } catch (reason) {
    if (codeOf(reason) !== code) throw reason;
  }
};

/** Returns the code of a system error, such as `EBUSY`; an empty string for any other value. */
export const codeOf = (reason: unknown): string =>
  reason instanceof Error && 'code' in reason && typeof reason.code === 'string' ? reason.code : '';

/** The kernel's cgroup file system. Calls are synchronous: the kernel answers from memory. */
export const kernelCgroupFiles: CgroupFiles = {
  exists: existsSync,
  folders: (path) => {
    try {
      // A directory has one link for each subdirectory plus two of its own. Most cgroups have no subdirectory, and listing their files
      // would take six times as long.
      if (statSync(path).nlink === 2) return [];
      return readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name);
    } catch {
      return [];
    }
  },
  read: (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  },
  write: writeFileSync,
  makeFolder: (path) => {
    unless('EEXIST', () => {
      mkdirSync(path, 0o755);
    });
  },
  removeFolder: (path) => {
    unless('ENOENT', () => {
      rmdirSync(path);
    });
  },
};
