import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';

/** The file system that the kernel shows cgroups in. Paths are absolute. */
export interface CgroupFiles {
  exists(path: string): boolean;
  /** Names of the folders in a folder, links left out; none when it is not there. */
  folders(path: string): readonly string[];
  /** `undefined`: it is not there or cannot be read. */
  read(path: string): string | undefined;
  /** @throws what the kernel says */
  write(path: string, text: string): void;
  /** Makes one folder; one that is there is no error. @throws what the kernel says */
  makeFolder(path: string): void;
  /** Removes one folder; one that is not there is no error. @throws what the kernel says: `EBUSY` with processes or children */
  removeFolder(path: string): void;
}

const unless = (code: string, act: () => void): void => {
  try {
    act();
  } catch (reason) {
    if (codeOf(reason) !== code) throw reason;
  }
};

/** The code of a system error, like `EBUSY`; empty for any other value. */
export const codeOf = (reason: unknown): string =>
  reason instanceof Error && 'code' in reason && typeof reason.code === 'string' ? reason.code : '';

/** The kernel's own: it answers from memory, so nothing here waits for a disk. */
export const kernelCgroupFiles: CgroupFiles = {
  exists: existsSync,
  folders: (path) => {
    try {
      // each folder in it is a link to it, beside its own two; most cgroups have none, and to read their dozens of files takes six times as long
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
