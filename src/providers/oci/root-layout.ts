import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { elementsBelow, inDirectoryBelow } from '../../base/files/below.ts';
import type { DNSConfig, Mount } from '../../provider/cri-messages.ts';
import { elementsInRoot } from './in-root.ts';
import type { RootMount } from './setup-script.ts';

/** Where a container's files are while it is put together. */
export interface RootPlaces {
  /** The image's files, which are not written to. */
  readonly lower: string;
  /** Where missing mount points are created: the upper directory of an overlay, or the copy of the image. */
  readonly writable: string;
}

/**
 * Creates the mount points of a container's volumes and returns the mounts, outer ones first. Links of the image are resolved within it.
 *
 * @throws {AgentError} `failed_precondition` with the mount's path
 */
export function layOutRoot(places: RootPlaces, mounts: readonly Mount[]): readonly RootMount[] {
  const done: RootMount[] = [];
  const sorted = [...mounts].sort((a, b) => (a.containerPath ?? '').length - (b.containerPath ?? '').length);
  for (const { containerPath = '', hostPath = '', readonly: readOnly = false } of sorted) {
    try {
      elementsBelow(containerPath, 'the path of a mount');
      const elements = elementsInRoot(places.lower, containerPath);
      if (elements.length === 0)
        throw new AgentError('invalid_argument', 'the root directory cannot be a volume');
      const isFolder = isFolderAt(hostPath);
      makePoint(places, done, { elements, isFolder });
      done.push({ source: hostPath, target: elements.join('/'), readOnly });
    } catch (cause) {
      throw new AgentError('failed_precondition', `mount at "${containerPath}": ${messageOf(cause)}`, {
        cause,
      });
    }
  }
  return done;
}

/** Follows a link, as `mount` does with its source. */
function isFolderAt(path: string): boolean {
  if (!existsSync(path)) throw new AgentError('not_found', `there is no ${path}`);
  return statSync(path).isDirectory();
}

function makePoint(
  places: RootPlaces,
  outer: readonly RootMount[],
  point: { readonly elements: readonly string[]; readonly isFolder: boolean },
): void {
  const path = point.elements.join('/');
  const mount = outer.findLast(({ target }) => path.startsWith(`${target}/`));
  if (mount) {
    const rest = path.slice(mount.target.length + 1).split('/');
    makeInVolume(mount.source, rest, point.isFolder);
    return;
  }
  if (outer.some(({ target }) => target === path)) return;
  makeFolders(places, point.isFolder ? point.elements : point.elements.slice(0, -1));
  if (!point.isFolder) makeFile(places, path);
}

function makeInVolume(volume: string, elements: readonly string[], isFolder: boolean): void {
  const make = { mode: 0o755 };
  const parents = isFolder ? elements : elements.slice(0, -1);
  inDirectoryBelow(volume, parents, { make }, (directory) => {
    if (!isFolder) touch(join(directory, elements.at(-1) ?? ''));
  });
}

/** Creates directories, with the owner and mode of the image's where it has them, as they cover these. */
export function makeFolders({ lower, writable }: RootPlaces, elements: readonly string[]): void {
  for (let count = 1; count <= elements.length; count++) {
    const path = join(...elements.slice(0, count));
    const target = join(writable, path);
    const there = lstatSync(target, { throwIfNoEntry: false });
    if (there?.isDirectory() === true) continue;
    if (there) throw new AgentError('failed_precondition', `/${path} is no directory`);
    const model = lstatSync(join(lower, path), { throwIfNoEntry: false });
    if (model && !model.isDirectory())
      throw new AgentError('failed_precondition', `/${path} is no directory in the image`);
    mkdirSync(target, { mode: model ? model.mode & 0o7777 : 0o755 });
    if (model && process.getuid?.() === 0) chownSync(target, model.uid, model.gid);
  }
}

function makeFile({ lower, writable }: RootPlaces, path: string): void {
  const model = lstatSync(join(lower, path), { throwIfNoEntry: false });
  if (model?.isDirectory() === true)
    throw new AgentError('failed_precondition', `/${path} is a directory in the image, the volume is a file`);
  if (model === undefined) touch(join(writable, path));
}

function touch(path: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === true)
    throw new AgentError('failed_precondition', `"${basename(path)}" is a link`);
  if (!there) closeSync(openSync(path, 'wx', 0o644));
}

/**
 * Copies volumes of small files (tokens, config maps) into a root directory that nothing can be mounted in.
 *
 * @throws {AgentError} `failed_precondition` for a directory tree that is deeper than a payload
 */
export function copyInto(
  places: RootPlaces,
  { containerPath = '', hostPath = '' }: Mount,
  copy: (from: string, to: string) => void,
): void {
  const elements = elementsInRoot(places.lower, containerPath);
  makeFolders(places, elements.slice(0, -1));
  copy(hostPath, join(places.writable, ...elements));
}

/** Character devices by name, with their numbers. */
const devices = { null: 3, zero: 5, full: 7, random: 8, urandom: 9 };

/** Creates the devices that every program expects in a `/dev` where nothing can be mounted, and links to the open files. */
export function makeDevices(directory: string): void {
  for (const [name, minor] of Object.entries(devices)) {
    const path = join(directory, name);
    if (!lstatSync(path, { throwIfNoEntry: false }))
      execFileSync('mknod', ['-m', '666', path, 'c', '1', String(minor)], { stdio: 'ignore' });
  }
}

/** Writes the text of a container's `/etc/resolv.conf`: the pod's, or the host's where the pod has none. */
export function writeResolvConf(
  path: string,
  { servers = [], searches = [], options = [] }: DNSConfig = {},
): void {
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, lines.length > 0 ? `${lines.join('\n')}\n` : hostText('/etc/resolv.conf'), {
    mode: 0o644,
  });
}

/** Reads a file of the host; empty when it is not there. */
export function hostText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
