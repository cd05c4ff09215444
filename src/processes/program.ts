import { closeSync, openSync, readSync, statSync, accessSync, constants, type Stats } from 'node:fs';
import { resolve } from 'node:path';

/** Where a command's program is, or why it cannot run, in the words that container runtimes use. */
export type ProgramLookup =
  { readonly path: string; readonly fault?: never } | { readonly path?: never; readonly fault: string };

/**
 * Finds the program that `name` means on `path` from `workingDir`, as `execvp` would, and says beforehand why it would fail.
 * The faults read as runc's, since users and tools know them: `exec: "x": executable file not found in $PATH`.
 */
export function findProgram(name: string, path: string, workingDir: string): ProgramLookup {
  if (name === '') return { fault: 'exec: "": executable file not found in $PATH' };
  if (name.includes('/')) return check(resolve(workingDir, name), name);
  for (const directory of path.split(':')) {
    const candidate = resolve(workingDir, directory, name);
    if (isExecutable(candidate)) return check(candidate, name);
  }
  return { fault: `exec: "${name}": executable file not found in $PATH` };
}

function check(path: string, name: string): ProgramLookup {
  const stat = statOf(path);
  if (!stat) return { fault: `exec: "${name}": stat ${path}: no such file or directory` };
  if (stat.isDirectory()) return { fault: `exec: "${name}": is a directory` };
  if (!isExecutable(path)) return { fault: `exec: "${name}": permission denied` };
  const head = firstBytes(path);
  if (head === undefined || head.startsWith('\x7fELF')) return { path };
  const shebang = /^#![ \t]*(\S+)/.exec(head);
  if (!shebang) return { fault: `exec ${path}: exec format error` };
  return statOf(shebang[1] ?? '') ? { path } : { fault: `exec ${path}: no such file or directory` };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statOf(path)?.isFile() ?? false;
  } catch {
    return false;
  }
}

/** Follows links; absent for whatever cannot be reached, a file where a directory should be included. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Absent: a program may be executable without being readable. */
function firstBytes(path: string): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(256);
      return bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
