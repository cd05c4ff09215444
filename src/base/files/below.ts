import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';

/**
 * Paths that come from outside (of pods, requests, archives, other machines), resolved below a directory of ours. By their text alone:
 * {@link fileName} and {@link pathBelow}. Where somebody else may write, text is not enough, for a link can lie there:
 * {@link inDirectoryBelow} follows none. `docs/security.md` lists who calls them.
 */

/** Opens a name for reference only (Linux `O_PATH`). */
export const pathOnly = 0o10000000;

/**
 * A word from outside as the name of one file.
 *
 * @param what it is, for the message: `the uid of a pod`
 * @throws {AgentError} `invalid_argument` when it is empty, `.` or `..`, or has a slash or NUL in it
 */
export function fileName(name: string, what: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new AgentError('invalid_argument', `${what} cannot be the name of a file: ${JSON.stringify(name)}`);
}

/**
 * The elements of a path from outside, those that say nothing left out. A slash at its beginning stands for the directory it is meant below.
 *
 * @throws {AgentError} `invalid_argument` when it has `..` or NUL in it
 */
export function elementsBelow(path: string, what: string): readonly string[] {
  const elements = path.split('/').filter((element) => element !== '' && element !== '.');
  if (!elements.includes('..') && !path.includes('\0')) return elements;
  throw new AgentError('invalid_argument', `${what} may not leave its directory: ${JSON.stringify(path)}`);
}

/** Where a path from outside lies below `root`. @throws {AgentError} `invalid_argument` when it has `..` or NUL in it */
export const pathBelow = (root: string, path: string, what: string): string =>
  join(root, ...elementsBelow(path, what));

/**
 * What a path from outside leads to, its links followed, when that is `root` or lies below it. For reading what the agent's own user alone
 * writes: it could be exchanged before it is opened.
 *
 * @throws {AgentError} `invalid_argument` when it leads elsewhere; what the file system says when it is not there
 */
export async function realPathBelow(root: string, path: string, what: string): Promise<string> {
  const wanted = pathBelow(root, path, what);
  const [home, real] = await Promise.all([realpath(root), realpath(wanted)]);
  if (real === home || real.startsWith(home === '/' ? home : `${home}/`)) return real;
  throw new AgentError('invalid_argument', `${what} leads out of its directory: ${JSON.stringify(path)}`);
}

/** How directories that are missing are made; absent: they are not. */
export interface Making {
  readonly make?: { readonly mode: number };
}

/**
 * Acts in a directory below `base` that cannot be exchanged meanwhile. Each element is opened in the one before, and no link is followed.
 *
 * @param act gets a path to the directory that holds until it returns
 * @throws {AgentError} `failed_precondition` when an element is a link or no directory; what the file system says otherwise
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

/** A path to what was opened, whatever has become of its name. */
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
