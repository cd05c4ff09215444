import { closeSync, openSync, readdirSync, readSync, statSync, type Stats } from 'node:fs';
import { endianness } from 'node:os';
import { dirname, resolve } from 'node:path';
import { launchCodes, type LaunchWords } from './launch-script.ts';
import type { ProcessUser } from './user.ts';

/**
 * Path of a command's program, or why it cannot run, in the words of container runtimes. Neither when file modes are not sufficient to know
 * the user's permissions; only the kernel decides then.
 */
export type ProgramLookup =
  | { readonly path: string; readonly fault?: never }
  | { readonly path?: never; readonly fault: string }
  | { readonly path?: never; readonly fault?: never };

/** Inputs of a program lookup. */
export interface ProgramSearch {
  /** The container's PATH. */
  readonly path: string;
  readonly workingDir: string;
  /** The user of the program. Paths without access for this user are not inspected, so that results reveal nothing about them. */
  readonly user: ProcessUser;
}

/** Returns an error for arguments that no program can receive: the kernel's strings end at a NUL. */
export function wordFault({
  argv,
  env,
}: {
  argv: readonly string[];
  env: ReadonlyMap<string, string>;
}): string | undefined {
  const name = argv[0] ?? '';
  const words = [...argv, ...[...env].flat()];
  if (words.some((word) => word.includes('\0'))) return `exec: ${JSON.stringify(name)}: invalid argument`;
  const odd = [...env.keys()].find((key) => key === '' || key.includes('='));
  return odd === undefined
    ? undefined
    : `exec: ${JSON.stringify(name)}: invalid environment variable name ${JSON.stringify(odd)}`;
}

/**
 * Finds the program for `name` like `execvp` with the user's permissions, and returns the error in advance when it would fail.
 * Errors are worded as by runc, which users and tools know: `exec: "x": executable file not found in $PATH`.
 */
export function findProgram(name: string, { path, workingDir, user }: ProgramSearch): ProgramLookup {
  if (name === '') return { fault: 'exec: "": executable file not found in $PATH' };
  if (name.includes('/')) return check(resolve(workingDir, name), name, user);
  let isDecided = true;
  for (const directory of path.split(':')) {
    const candidate = resolve(workingDir, directory, name);
    if (!canReach(candidate, user)) {
      isDecided &&= user.uid === 0;
      continue;
    }
    const stat = statOf(candidate);
    if (stat?.isFile() !== true) continue;
    if (mayExecute(stat, user)) return check(candidate, name, user);
    isDecided &&= user.uid === 0;
  }
  return isDecided ? { fault: `exec: "${name}": executable file not found in $PATH` } : {};
}

/**
 * Returns the message of a failed launch, as by runc.
 *
 * @param code exit code of the launcher
 * @param errorText error output of its shell, which ends with the kernel's message
 */
export function launchFault(
  { argv, workingDir }: Pick<LaunchWords, 'argv' | 'workingDir'>,
  code: number,
  errorText: string,
): string {
  const name = argv[0] ?? '';
  const why = /: ([A-Z][a-z]+(?: [a-z]+)+)\s*$/.exec(errorText)?.[1]?.toLowerCase();
  if (code === launchCodes.directory)
    return `chdir to cwd ("${workingDir}") set in config.json failed: ${why ?? 'permission denied'}`;
  if (why === 'exec format error' || why === 'no such file or directory') return `exec ${name}: ${why}`;
  if (code === 127 && !name.includes('/')) return `exec: "${name}": executable file not found in $PATH`;
  return `exec: "${name}": ${why ?? (code === 127 ? 'no such file or directory' : 'permission denied')}`;
}

function check(path: string, name: string, user: ProcessUser): ProgramLookup {
  if (!canReach(path, user)) return {};
  const stat = statOf(path);
  if (!stat) return { fault: `exec: "${name}": stat ${path}: no such file or directory` };
  if (stat.isDirectory()) return { fault: `exec: "${name}": is a directory` };
  if (!stat.isFile()) return { fault: `exec: "${name}": permission denied` };
  if (!mayExecute(stat, user)) return user.uid === 0 ? { fault: `exec: "${name}": permission denied` } : {};
  return checkFormat(path, stat.size);
}

function checkFormat(path: string, bytes: number): ProgramLookup {
  const head = firstBytes(path);
  if (head === undefined) return { path };
  if (head.startsWith('\x7fELF'))
    return isElf(head, bytes) ? { path } : { fault: `exec ${path}: exec format error` };
  const shebang = /^#![ \t]*([^\s\0]+)/.exec(head);
  if (!shebang) return { fault: `exec ${path}: exec format error` };
  return statOf(shebang[1] ?? '') ? { path } : { fault: `exec ${path}: no such file or directory` };
}

/**
 * True when the kernel can run the ELF file. Programs that use `execvp` run files that the kernel refuses with a shell, so obvious cases
 * are detected in advance by the header: a missing program header table, and another machine without a registered interpreter.
 */
function isElf(head: string, bytes: number): boolean {
  const header = Buffer.from(head, 'latin1');
  if (bytes < 52) return false;
  const is64 = header[4] === 2;
  if (header[5] !== (endianness() === 'LE' ? 1 : 2)) return runsOthers();
  const read = (at: number, width: 2 | 4): number =>
    endianness() === 'LE' ? header.readUIntLE(at, width) : header.readUIntBE(at, width);
  const [offset, entryBytes, entries] = is64
    ? [read(endianness() === 'LE' ? 32 : 36, 4), read(54, 2), read(56, 2)]
    : [read(28, 4), read(42, 2), read(44, 2)];
  if (entries === 0 || offset + entryBytes * entries > bytes) return false;
  const own = machines[process.arch];
  return own === undefined || own.includes(read(18, 2)) || runsOthers();
}

/** `e_machine` values that this machine runs: its own and its 32-bit variant. */
const machines: Partial<Record<string, readonly number[]>> = { x64: [62, 3], arm64: [183, 40] };

/** True when interpreters for other machines are registered (`binfmt_misc`). */
function runsOthers(): boolean {
  try {
    return readdirSync('/proc/sys/fs/binfmt_misc').some((name) => name !== 'register' && name !== 'status');
  } catch {
    return false;
  }
}

/** True when the user may traverse all parent directories, by their modes only. */
function canReach(path: string, user: ProcessUser): boolean {
  if (user.uid === 0) return true;
  for (let at = dirname(path); ; at = dirname(at)) {
    const stat = statOf(at);
    if (stat && !mayExecute(stat, user)) return false;
    if (at === '/') return true;
  }
}

function mayExecute({ mode, uid, gid }: Stats, user: ProcessUser): boolean {
  if (user.uid === 0) return (mode & 0o111) !== 0;
  if (uid === user.uid) return (mode & 0o100) !== 0;
  if (gid === user.gid || user.supplementalGroups.includes(gid)) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

/** Follows links; `undefined` for a path that cannot be reached, including one below a regular file. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Returns the first bytes of a file; `undefined` when it is not readable, as executables need not be. */
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
