import { readFileSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type ProgramEnd, runProgram } from '../../base/programs.ts';

/** How long a mount may take, ms: one of a file server that does not answer takes for ever. */
const patienceMs = 30_000;

/** What the host mounts for volumes. */
export interface Mounter {
  /** Mounts memory at a directory; `sizeBytes` bounds it. It is never written to swap where the kernel can help it. */
  mountTmpfs(dir: string, sizeBytes: number | undefined): Promise<void>;
  /** Mounts memory in huge pages of a size at a directory. */
  mountHugePages(dir: string, pageBytes: number): Promise<void>;
  /** Mounts what a file server exports (`server:/path`) at a directory. */
  mountNfs(source: string, dir: string, options: readonly string[]): Promise<void>;
  /** Shows what is at `source` at `target` too. */
  bindMount(source: string, target: string): Promise<void>;
  /** Unmounts a directory; one that is no mount point is fine. */
  unmount(dir: string): Promise<void>;
  isMountPoint(dir: string): boolean;
  /** Mount points at or below a directory. */
  mountsUnder(dir: string): readonly string[];
}

/** `\040` and its like stand for characters that would end a field of mountinfo. */
const unescape = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

const mountTable = '/proc/self/mountinfo';

/**
 * Makes mounts below a directory reach the containers that it is mounted into, and theirs the host; what is shared already stays as it is.
 * Needs root. Follows kubelet `MakeRShared`.
 *
 * @throws {AgentError} `internal` when it cannot be done
 */
export async function makeShared(dir: string): Promise<void> {
  const real = realpathSync(dir);
  if (isShared(readFileSync(mountTable, 'utf8'), real)) return;
  await call('mount', ['--bind'], [real, real]);
  await call('mount', ['--make-rshared'], [real]);
}

/** Whether the mount that a path lies on passes on what is mounted below it. @param mountInfo lines of `/proc/PID/mountinfo` */
export function isShared(mountInfo: string, path: string): boolean {
  const holders = mountInfo.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const point = unescape(fields[4] ?? '');
    const holds = point !== '' && (path === point || path.startsWith(point === '/' ? '/' : `${point}/`));
    return holds ? [{ point, shared: fields.slice(6, fields.indexOf('-')).some(isPeerGroup) }] : [];
  });
  // of several at the same point, the last one lies on top
  const nearest = Math.max(...holders.map(({ point }) => point.length));
  return holders.findLast(({ point }) => point.length === nearest)?.shared ?? false;
}

const isPeerGroup = (field: string): boolean => field.startsWith('shared:');

const mountPoints = (): readonly string[] => pointsOf(readFileSync(mountTable, 'utf8'));

function pointsOf(table: string): readonly string[] {
  return table.split('\n').flatMap((line) => {
    const point = line.split(' ')[4];
    return point === undefined ? [] : [unescape(point)];
  });
}

/** Of some mount points, those at or below a directory. */
export const pointsBelow = (dir: string, points: readonly string[]): readonly string[] =>
  points.filter((point) => point === dir || point.startsWith(`${dir}/`));

let looking: Promise<ReadonlySet<string>> | undefined;

/**
 * All mount points of the host. On a node full of pods the kernel takes milliseconds to tell them, so who asks while a look is under way
 * shares it: it was as good as made when they asked.
 */
export function mountPointsSoon(): Promise<ReadonlySet<string>> {
  looking ??= readFile(mountTable, 'utf8')
    .then((table) => new Set(pointsOf(table)))
    .finally(() => {
      looking = undefined;
    });
  return looking;
}

/** Mounts by the host's own `mount` and `umount`; needs root. */
export const hostMounter: Mounter = {
  async mountTmpfs(dir, sizeBytes) {
    const options = tmpfsOptions(sizeBytes, release(), readFileSync('/proc/self/uid_map', 'utf8'));
    const asked = options.length === 0 ? [] : ['-o', options.join(',')];
    await call('mount', ['-t', 'tmpfs', ...asked], ['tmpfs', dir]);
  },
  async mountHugePages(dir, pageBytes) {
    await call('mount', ['-t', 'hugetlbfs', '-o', `pagesize=${pageBytes / 2 ** 20}M`], ['nodev', dir]);
  },
  async mountNfs(source, dir, options) {
    await call(
      'mount',
      ['-t', 'nfs', ...(options.length > 0 ? ['-o', options.join(',')] : [])],
      [source, dir],
    );
  },
  async bindMount(source, target) {
    await call('mount', ['--no-canonicalize', '-o', 'bind'], [source, target]);
  },
  async unmount(dir) {
    // the path is whole: umount need not look into a mount that may answer no more
    if (mountPoints().includes(dir)) await call('umount', ['--no-canonicalize'], [dir]);
  },
  isMountPoint: (dir) => mountPoints().includes(dir),
  mountsUnder: (dir) => pointsBelow(dir, mountPoints()),
};

/**
 * How memory is mounted. `noswap` is known since Linux 6.4, and refused to whoever is root of a user namespace only.
 * Follows kubelet `generateTmpfsMountOptions` and `IsTmpfsNoswapOptionSupported`.
 *
 * @param kernel its version, as `uname -r` tells it
 * @param uidMap the text of `/proc/self/uid_map`
 */
export function tmpfsOptions(
  sizeBytes: number | undefined,
  kernel: string,
  uidMap: string,
): readonly string[] {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  const isKnown = major > 6 || (major === 6 && minor >= 4);
  const isRootOfAll = /^\s*0\s+0\s+4294967295\s*$/.test(uidMap);
  return [
    ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`]),
    ...(isKnown && isRootOfAll ? ['noswap'] : []),
  ];
}

/**
 * @param operands come from outside, so that none of them may be taken for an option
 * @throws {AgentError} `internal` with what the command said, in kubelet's words
 */
async function call(
  command: 'mount' | 'umount',
  options: readonly string[],
  operands: readonly string[],
): Promise<void> {
  const words = [...options, ...operands];
  const end = await runProgram(command, [...options, '--', ...operands], { timeoutMs: patienceMs }).catch(
    (cause: unknown) => {
      throw new AgentError('internal', mountFault(command, words, messageOf(cause)), { cause });
    },
  );
  if (end.exitCode !== 0) throw new AgentError('internal', mountFault(command, words, end));
}

/**
 * Why a mount failed. Follows `doMount` and `UnmountWithoutSystemd` of k8s.io/mount-utils.
 *
 * @param end how the command ended, or why it could not be started
 */
export function mountFault(
  command: 'mount' | 'umount',
  args: readonly string[],
  end: ProgramEnd | string,
): string {
  const { why, output } = typeof end === 'string' ? { why: end, output: '' } : told(end);
  return command === 'mount'
    ? `mount failed: ${why}\nMounting command: mount\nMounting arguments: ${args.join(' ')}\nOutput: ${output}`
    : `unmount failed: ${why}\nUnmounting arguments: ${args.at(-1) ?? ''}\nOutput: ${output}`;
}

const told = ({
  exitCode,
  signal = 'SIGKILL',
  stdout,
  stderr,
}: ProgramEnd): { why: string; output: string } => ({
  why:
    exitCode === undefined
      ? `it was ended after ${patienceMs / 1000} s (${signal})`
      : `exit status ${exitCode}`,
  output: `${stdout}${stderr}`,
});
