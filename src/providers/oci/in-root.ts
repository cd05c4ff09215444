import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../base/errors.ts';

/** The maximum number of links on one path, as in Linux. */
const maxLinks = 40;

/**
 * Resolves a path as a process sees it whose root directory is `root`: absolute links and `..` stay below it. Elements that do not exist
 * are kept. Use it only while no other user can write to the tree.
 *
 * @param last `follow` also resolves a link at the end of the path
 * @returns the elements below `root`, none of which is a link (the last one excepted with `keep`)
 * @throws {AgentError} `invalid_argument` for too many links
 */
export function elementsInRoot(
  root: string,
  path: string,
  last: 'follow' | 'keep' = 'follow',
): readonly string[] {
  const done: string[] = [];
  const left = path.split('/').reverse();
  let links = 0;
  for (let element = left.pop(); element !== undefined; element = left.pop()) {
    if (element === '' || element === '.') continue;
    if (element === '..') {
      done.pop();
      continue;
    }
    const isLast = left.every((rest) => rest === '' || rest === '.');
    const target = isLast && last === 'keep' ? undefined : linkAt(join(root, ...done, element));
    if (target === undefined) {
      done.push(element);
      continue;
    }
    if (++links > maxLinks)
      throw new AgentError('invalid_argument', `too many levels of symbolic links: ${JSON.stringify(path)}`);
    if (target.startsWith('/')) done.length = 0;
    left.push(...target.split('/').reverse());
  }
  return done;
}

/** Resolves a path in a root directory to a path of the host; see {@link elementsInRoot}. */
export const pathInRoot = (root: string, path: string, last: 'follow' | 'keep' = 'follow'): string =>
  join(root, ...elementsInRoot(root, path, last));

/** Reads a file in a root directory; empty when it does not exist, is no regular file or is larger than 1 MiB. */
export function textInRoot(root: string, path: string): string {
  try {
    const found = pathInRoot(root, path);
    const stat = statSync(found);
    return stat.isFile() && stat.size <= 1024 * 1024 ? readFileSync(found, 'utf8') : '';
  } catch {
    return '';
  }
}

/**
 * Finds the program `name` in a root directory as `execvp` does there.
 *
 * @param path the container's PATH
 * @returns the path that the container sees, or why it cannot run, in the words of container runtimes
 */
export function programInRoot(
  root: string,
  name: string,
  { path, workingDir }: { readonly path: string; readonly workingDir: string },
): { readonly path: string; readonly fault?: never } | { readonly fault: string; readonly path?: never } {
  const notFound = `exec: ${JSON.stringify(name)}: executable file not found in $PATH`;
  if (name === '') return { fault: notFound };
  const within = (directory: string): string =>
    directory.startsWith('/') ? directory : join(workingDir, directory);
  if (name.includes('/')) return checked(root, within(name), name);
  for (const directory of path.split(':')) {
    const candidate = join(within(directory), name);
    const found = checked(root, candidate, name);
    if (found.path !== undefined) return found;
  }
  return { fault: notFound };
}

function checked(root: string, path: string, name: string): ReturnType<typeof programInRoot> {
  const says = (why: string): { readonly fault: string } => ({
    fault: `exec: ${JSON.stringify(name)}: ${why}`,
  });
  const stat = statSync(pathInRoot(root, path), { throwIfNoEntry: false });
  if (!stat) return says(`stat ${path}: no such file or directory`);
  if (stat.isDirectory()) return says('is a directory');
  return stat.isFile() && (stat.mode & 0o111) !== 0 ? { path } : says('permission denied');
}

function linkAt(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw reason;
  }
}
