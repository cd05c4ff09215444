import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';

/**
 * Resolves paths from outside (from pods, requests, archives, other machines) below a directory of the agent. {@link fileName} and {@link
 * pathBelow} check the text only. Where others may write, a link could lead elsewhere: use {@link inDirectoryBelow}, which follows no link.
 * `docs/security.md` lists the callers.
 */

/** The flag that opens a path as a reference only (Linux `O_PATH`). */
export const pathOnly = 0o10000000;

/**
 * Checks that a text from outside can be the name of one file, and returns it.
 *
 * @param what the subject of the error message, such as `the uid of a pod`
 * @throws {AgentError} `invalid_argument` when it is empty, `.` or `..`, or has a slash or NUL in it
 */
export function fileName(name: string, what: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new AgentError('invalid_argument', `${what} cannot be the name of a file: ${JSON.stringify(name)}`);
}

/**
 * Splits a path from outside into its elements, without empty ones and `.`. A leading slash stands for the directory below which it is
 * resolved.
 *
 * @throws {AgentError} `invalid_argument` when it has `..` or NUL in it
 */
export function elementsBelow(path: string, what: string): readonly string[] {
  const elements = path.split('/').filter((element) => element !== '' && element !== '.');
  if (!elements.includes('..') && !path.includes('\0')) return elements;
  throw new AgentError('invalid_argument', `${what} may not leave its directory: ${JSON.stringify(path)}`);
}

/** Resolves a path from outside below `root`. @throws {AgentError} `invalid_argument` when it has `..` or NUL in it */
export const pathBelow = (root: string, path: string, what: string): string =>
  join(root, ...elementsBelow(path, what));

/**
 * Resolves a path from outside with all links, and returns it when the result is `root` or lies below it. Use it only for files that no
 * other user can write: the file could be replaced before it is opened.
 *
 * @throws {AgentError} `invalid_argument` when it leads elsewhere; the file system's error when it does not exist
 */
export async function realPathBelow(root: string, path: string, what: string): Promise<string> {
  const target = pathBelow(root, path, what);
  const [home, real] = await Promise.all([realpath(root), realpath(target)]);
  if (real === home || real.startsWith(home === '/' ? home : `${home}/`)) return real;
  throw new AgentError('invalid_argument', `${what} leads out of its directory: ${JSON.stringify(path)}`);
}

/** How missing directories are created. */
export interface Making {
  readonly make?: { readonly mode: number };
}

/**
 * Runs `act` in a directory below `base` that cannot be replaced meanwhile: each element is opened relative to the one before, without
 * following links.
 *
 * @param act receives a path to the directory that is valid until `act` returns
 * @throws {AgentError} `failed_precondition` when an element is a link or no directory; the file system's error otherwise
 */
export function inDirectoryBelow<T>(
  base: string,
  elements: readonly string[],
  { make }: Making,
  act: (directory: string) => T,
): T {
  let file = openSync(base, pathOnly | constants.O_DIRECTORY);
  try {
    for (const element of elements) {
      const path = join(byDescriptor(file), element);
      const next = openDirectory(path, make?.mode, element);
      closeSync(file);
      file = next;
    }
    return act(byDescriptor(file));
  } finally {
    closeSync(file);
  }
}

/** A path to an open file that stays valid when the file is renamed. */
export const byDescriptor = (fd: number): string => `/proc/self/fd/${fd}`;

function openDirectory(path: string, mode: number | undefined, element: string): number {
  const flags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  try {
    return openSync(path, flags);
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === 'ENOENT' && mode !== undefined) {
      mkdirSync(path, { mode });
      return openSync(path, flags);
    }
    if (code === 'ELOOP' || code === 'ENOTDIR')
      throw new AgentError('failed_precondition', `"${element}" is a link or no directory`, {
        cause: reason,
      });
    throw reason;
  }
}
