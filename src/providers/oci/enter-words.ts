import type { ResolvedImage } from '../process/index.ts';
import type { LinuxContainerSecurityContext } from '../../provider/cri-messages.ts';
import type { Isolation } from './isolation.ts';
import { capabilityWords } from './privileges.ts';
import type { RootMount } from './setup-script.ts';

/** What a command needs to run in a container's root directory. */
export interface Entry {
  readonly image: Pick<ResolvedImage, 'user' | 'workingDir'>;
  readonly context: LinuxContainerSecurityContext;
  /** The container's root directory. */
  readonly root: string;
  /** Volumes that the isolation's own program mounts. */
  readonly mounts: readonly RootMount[];
  readonly hostname: string;
}

/** Returns the words that enter a container's root directory as its user and become the command after them. */
export function enterWords(isolation: Isolation, entry: Entry): readonly string[] {
  switch (isolation.kind) {
    case 'namespaces':
    case 'chroot':
      return rootWords(isolation, entry);
    case 'bubblewrap':
      return [...userWords(isolation, entry), ...bubbleWords(isolation, entry)];
    case 'proot':
      return [...userWords(isolation, entry), ...prootWords(isolation, entry)];
    case 'none':
      return userWords(isolation, entry);
  }
}

/** Words that change the root directory with `unshare`, which also sets directory and user; groups and capabilities come before. */
export function rootWords(
  { tools, rootless }: Isolation,
  { image, context, root }: Entry,
): readonly string[] {
  const { user, workingDir } = image;
  return [
    tools.setpriv ?? 'setpriv',
    ...(rootless ? [] : groupWords(user)),
    ...(context.noNewPrivs ? ['--no-new-privs'] : []),
    ...capabilityWords(context),
    '--',
    tools.unshare ?? 'unshare',
    `--root=${root}`,
    `--wd=${workingDir}`,
    ...(user.uid === 0 ? [] : [`--setuid=${user.uid}`]),
    '--',
  ];
}

function groupWords({ gid, supplementalGroups }: ResolvedImage['user']): readonly string[] {
  const groups =
    supplementalGroups.length > 0 ? `--groups=${supplementalGroups.join(',')}` : '--clear-groups';
  return [`--regid=${gid}`, groups];
}

/** Words that change the user on the host, for programs that enter the root directory without privileges. */
function userWords({ tools, rootless }: Isolation, { image: { user }, context }: Entry): readonly string[] {
  const words = [
    ...(rootless ? [] : groupWords(user)),
    ...(rootless || user.uid === 0 ? [] : [`--reuid=${user.uid}`]),
    ...(context.noNewPrivs ? ['--no-new-privs'] : []),
  ];
  return words.length === 0 || tools.setpriv === undefined ? [] : [tools.setpriv, ...words, '--'];
}

function bubbleWords(
  { tools, rootless }: Isolation,
  { image: { workingDir, user }, root, mounts, context, hostname }: Entry,
): readonly string[] {
  return [
    tools.bwrap ?? 'bwrap',
    // with another user it would make a second user namespace, in which commands of the container cannot join its other namespaces
    ...(rootless ? ['--unshare-user', '--uid', '0', '--gid', '0'] : []),
    ...[context.readonlyRootfs ? '--ro-bind' : '--bind', root, '/'],
    ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', '/sys', '/sys'],
    ...mounts.flatMap(({ source, target, readOnly }) => [
      readOnly ? '--ro-bind' : '--bind',
      source,
      `/${target}`,
    ]),
    ...[
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--as-pid-1',
      '--hostname',
      hostname,
      '--chdir',
      workingDir,
    ],
    ...(user.uid === 0 ? bubbleCapabilities(context) : []),
    '--',
  ];
}

/** Returns the options of `bwrap` for the capabilities of a container's root. */
function bubbleCapabilities(context: LinuxContainerSecurityContext): readonly string[] {
  const set = capabilityWords(context).find((word) => word.startsWith('--bounding-set='));
  const names = (set ?? '').replace('--bounding-set=', '').split(',');
  if (set === undefined || names.includes('+all')) return ['--cap-add', 'ALL'];
  return [
    ...['--cap-drop', 'ALL'],
    ...names
      .filter((name) => name.startsWith('+'))
      .flatMap((name) => ['--cap-add', `CAP_${name.slice(1).toUpperCase()}`]),
  ];
}

function prootWords(
  { tools, rootless }: Isolation,
  { image: { workingDir, user }, root, mounts }: Entry,
): readonly string[] {
  return [
    tools.proot ?? 'proot',
    ...['-r', root, '-w', workingDir, '-b', '/proc', '-b', '/dev', '-b', '/sys'],
    ...mounts.flatMap(({ source, target }) => ['-b', `${source}:/${target}`]),
    ...(rootless && user.uid === 0 ? ['-0'] : []),
  ];
}
