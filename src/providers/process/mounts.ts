import { lstatSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { elementsBelow, inDirectoryBelow } from '../../base/files/below.ts';
import type { Mount } from '../../provider/cri-messages.ts';

/** Where a path of a container lies: in its own directory, or in a volume that one of its mounts shows. */
interface Place {
  readonly base: string;
  readonly elements: readonly string[];
  /** Only this container's start writes there. */
  readonly isOwn: boolean;
}

/**
 * Lays out the directory that stands for a container's file system: every mount whose path is not the host's own becomes a link
 * at that path below `root`. Outer mounts come first, so that a mount inside another lands in it. Links that a container has made are not
 * followed, and nothing is replaced in a volume but what such a mount has left there.
 *
 * @throws {AgentError} naming the mount
 */
export function layOutMounts(root: string, mounts: readonly Mount[]): void {
  const linked: Mount[] = [];
  for (const mount of [...mounts].sort((a, b) => depth(a) - depth(b))) {
    const { containerPath = '', hostPath = '' } = mount;
    if (containerPath === '' || hostPath === '' || isSame(containerPath, hostPath)) continue;
    try {
      const place = placeOf(root, linked, containerPath);
      const name = place.elements.at(-1);
      if (name === undefined) continue; // the root itself cannot be a link
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

/** Makes a directory that a container sees at `path`, and those above it. @throws {AgentError} naming the path */
export function makeDirectory(root: string, mounts: readonly Mount[], path: string): void {
  const { base, elements } = placeOf(root, mounts.filter(isLinked), path);
  inDirectoryBelow(base, elements, { make: { mode: 0o755 } }, () => undefined);
}

const isLinked = ({ containerPath = '', hostPath = '' }: Mount): boolean =>
  containerPath !== '' && hostPath !== '' && !isSame(containerPath, hostPath);

const depth = ({ containerPath = '' }: Mount): number => containerPath.length;

/** The innermost mount that a path lies in, or the root. */
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

/** What is there already and no link stays, and is what the container sees. */
function putLink(link: string, target: string, isOwn: boolean): void {
  const there = lstatSync(link, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === true) {
    const old = readlinkSync(link);
    if (old === target) return;
    // an earlier run of the container left it, with a file of its own
    if (!isOwn && dirname(old) !== dirname(target))
      throw new AgentError('failed_precondition', `a link that leads to "${old}" is there already`);
    rmSync(link);
  } else if (there) return;
  symlinkSync(target, link);
}

/** Do both paths already name the same thing on the host? Then the mount holds without doing anything. */
function isSame(containerPath: string, hostPath: string): boolean {
  if (containerPath === hostPath) return true;
  try {
    return realpathSync(containerPath) === realpathSync(hostPath);
  } catch {
    return false;
  }
}
