import { lstatSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { elementsBelow, inDirectoryBelow } from '../../base/files/below.ts';
import type { Mount } from '../../provider/cri-messages.ts';

/** Where a path of a container is: in its root directory, or in the volume of one of its mounts. */
interface Place {
  readonly base: string;
  readonly elements: readonly string[];
  /** True when only this container's start writes there. */
  readonly isOwn: boolean;
}

/**
 * Creates the root directory of a container: every mount whose path differs from the host path becomes a symbolic link
 * at that path below `root`. Outer mounts come first, so that nested ones are created inside. Links that a container has created are not
 * followed, and in a volume only links that such a mount has left are replaced.
 *
 * @throws {AgentError} with the mount's path
 */
export function layOutMounts(root: string, mounts: readonly Mount[]): void {
  const linked: Mount[] = [];
  for (const mount of [...mounts].sort((a, b) => depth(a) - depth(b))) {
    const { containerPath = '', hostPath = '' } = mount;
    if (containerPath === '' || hostPath === '' || isSame(containerPath, hostPath)) continue;
    try {
      const place = placeOf(root, linked, containerPath);
      const name = place.elements.at(-1);
      if (name === undefined) continue; // a mount on the root itself is not supported
      inDirectoryBelow(place.base, place.elements.slice(0, -1), { make: { mode: 0o755 } }, (directory) => {
        putLink(join(directory, name), hostPath, place.isOwn);
      });
    } catch (cause) {
      throw new AgentError('failed_precondition', `mount at "${containerPath}": ${messageOf(cause)}`, {
        cause,
      });
    }
    linked.push(mount);
  }
}

/** Creates the directory that a container sees at `path`, with its parents. @throws {AgentError} with the path */
export function makeDirectory(root: string, mounts: readonly Mount[], path: string): void {
  const { base, elements } = placeOf(root, mounts.filter(isLinked), path);
  inDirectoryBelow(base, elements, { make: { mode: 0o755 } }, () => undefined);
}

const isLinked = ({ containerPath = '', hostPath = '' }: Mount): boolean =>
  containerPath !== '' && hostPath !== '' && !isSame(containerPath, hostPath);

const depth = ({ containerPath = '' }: Mount): number => containerPath.length;

/** Returns the innermost mount that contains a path, or the root. */
function placeOf(root: string, mounts: readonly Mount[], path: string): Place {
  const elements = elementsBelow(path, 'the path of a mount');
  let place: Place = { base: root, elements, isOwn: true };
  for (const { containerPath = '', hostPath = '' } of mounts) {
    const outer = elementsBelow(containerPath, 'the path of a mount');
    const lies = outer.length < elements.length && outer.every((element, at) => element === elements[at]);
    if (lies && elements.length - outer.length <= place.elements.length)
      place = { base: hostPath, elements: elements.slice(outer.length), isOwn: false };
  }
  return place;
}

/** Creates a link; an existing entry other than a link is kept, as the container sees that. */
function putLink(link: string, target: string, isOwn: boolean): void {
  const there = lstatSync(link, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === true) {
    const old = readlinkSync(link);
    if (old === target) return;
    // Left by an earlier instance of the container, for a file of its own.
    if (!isOwn && dirname(old) !== dirname(target))
      throw new AgentError('failed_precondition', `a link that leads to "${old}" is there already`);
    rmSync(link);
  } else if (there) return;
  symlinkSync(target, link);
}

/** True when both paths refer to the same file on the host, so that no link is needed. */
function isSame(containerPath: string, hostPath: string): boolean {
  if (containerPath === hostPath) return true;
  try {
    return realpathSync(containerPath) === realpathSync(hostPath);
  } catch {
    return false;
  }
}
