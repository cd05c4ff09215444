import { posix } from 'node:path';
import { quote } from '../../processes/shell-word.ts';

/** A volume of a container, whose mount point exists. */
export interface RootMount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Path below the root, relative and without links. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** How a container's file system is put together. */
export interface RootSetup {
  /** Absolute path of `mount`. */
  readonly mount: string;
  /** Absolute path of `hostname`, for a user namespace: the kernel's file belongs to the machine's root. */
  readonly nameTool?: string | undefined;
  /** Absolute path of the container's root directory: a copy of the image's files, or where the overlay is mounted. */
  readonly root: string;
  readonly overlay?: { readonly lower: string; readonly upper: string; readonly work: string };
  readonly hostname: string;
  /** True in a user namespace, where the host's `/sys` is the only one that there is. */
  readonly rootless: boolean;
  readonly mounts: readonly RootMount[];
  /** Absolute paths in the container that are hidden, or not writable. Missing ones are left out. */
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly readonlyRootfs: boolean;
  readonly privileged: boolean;
}

const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/**
 * Returns the script that puts a container's file system together in a mount namespace of its own, makes it the namespace's root, and
 * becomes the command of its arguments. That command still runs in the host's root directory: its current directory is the container's.
 *
 * A root directory that was moved over the namespace's root cannot be left by `chroot`, unlike a directory deep in the host's tree.
 */
export function setupScript(setup: RootSetup): string {
  const mount = `${quote(setup.mount)} -n`; // without a note in `/run/mount`, which only the machine's root may write
  const { root, overlay, rootless, privileged, hostname } = setup;
  return [
    'set -e',
    ...(overlay
      ? [
          `${mount} -t overlay overlay -o ${quote(`lowerdir=${overlay.lower},upperdir=${overlay.upper},workdir=${overlay.work}${rootless ? ',userxattr' : ''}`)} ${quote(root)}`,
        ]
      : [`${mount} --bind ${quote(root)} ${quote(root)}`]),
    `cd ${quote(root)}`,
    `${mount} -t proc -o nosuid,nodev,noexec proc proc`,
    rootless
      ? `${mount} --rbind /sys sys`
      : `${mount} -t sysfs -o nosuid,nodev,noexec${privileged ? '' : ',ro'} sysfs sys`,
    ...(privileged ? [`${mount} --rbind /dev dev`] : deviceLines(mount)),
    ...setup.mounts.flatMap(({ source, target, readOnly }) => [
      ...(target.startsWith('dev/') ? [pointLine(source, target)] : []),
      `${mount} --rbind ${quote(source)} ${quote(`./${target}`)}`,
      ...(readOnly ? [`${mount} -o remount,bind,ro ${quote(`./${target}`)}`] : []),
    ]),
    ...(privileged
      ? []
      : [
          ...setup.readonlyPaths.map((path) => readonlyLine(mount, path)),
          ...setup.maskedPaths.map((path) => maskLine(mount, path)),
        ]),
    rootless && setup.nameTool !== undefined
      ? `${quote(setup.nameTool)} ${quote(hostname)}`
      : `echo ${quote(hostname)} >/proc/sys/kernel/hostname`,
    ...(setup.readonlyRootfs ? [`${mount} -o remount,bind,ro .`] : []),
    `${mount} --move . /`,
    'exec "$@"',
    '',
  ].join('\n');
}

/** Lines for a `/dev` with what every container has. */
function deviceLines(mount: string): readonly string[] {
  return [
    `${mount} -t tmpfs -o nosuid,noexec,mode=755,size=65536k tmpfs dev`,
    ...devices.map((name) => `: >dev/${name}; ${mount} --bind /dev/${name} dev/${name}`),
    'mkdir dev/pts dev/shm',
    `${mount} -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666,mode=0620 devpts dev/pts`,
    `${mount} -t tmpfs -o nosuid,nodev,noexec,mode=1777,size=65536k shm dev/shm`,
    'ln -s pts/ptmx dev/ptmx',
    'ln -s /proc/self/fd dev/fd',
    'ln -s /proc/self/fd/0 dev/stdin',
    'ln -s /proc/self/fd/1 dev/stdout',
    'ln -s /proc/self/fd/2 dev/stderr',
  ];
}

/** Creates the mount point of a volume below `/dev`, which covers the image's. */
const pointLine = (source: string, target: string): string => {
  const [from, to] = [quote(source), quote(`./${target}`)];
  return `mkdir -p ${quote(`./${posix.dirname(target)}`)}; if [ -d ${from} ]; then mkdir -p ${to}; else : >>${to}; fi`;
};

const readonlyLine = (mount: string, path: string): string => {
  const target = quote(`.${path}`);
  return `if [ -e ${target} ]; then ${mount} --bind ${target} ${target}; ${mount} -o remount,bind,ro ${target}; fi`;
};

const maskLine = (mount: string, path: string): string => {
  const target = quote(`.${path}`);
  return `if [ -d ${target} ]; then ${mount} -t tmpfs -o ro,size=0k tmpfs ${target}; elif [ -e ${target} ]; then ${mount} --bind /dev/null ${target}; fi`;
};
