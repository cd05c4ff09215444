import { readFileSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type ProgramEnd, runProgram } from '../../base/programs.ts';

/** How long a mount may take, ms: one of a file server that does not answer takes for ever. */
const patienceMs = 30_000;

/** Mounter mounts and unmounts on the host. */
export interface Mounter {
  /** Mounts a tmpfs on a directory; `sizeBytes` limits it. It is never swapped out where the kernel supports that. */
  mountTmpfs(dir: string, sizeBytes: number | undefined): Promise<void>;
  /** Mounts huge pages of a size on a directory. */
  mountHugePages(dir: string, pageBytes: number): Promise<void>;
  /** Mounts an NFS export (`server:/path`) on a directory. */
  mountNfs(source: string, dir: string, options: readonly string[]): Promise<void>;
  /** Bind-mounts `source` on `target`. */
  bindMount(source: string, target: string): Promise<void>;
  /** Unmounts a directory; succeeds when it is not a mount point. */
  unmount(dir: string): Promise<void>;
  isMountPoint(dir: string): boolean;
  /** Returns the mount points at or below a directory. */
  mountsUnder(dir: string): readonly string[];
}

/** Decodes octal escapes of mountinfo fields, such as `\040`. */
const unescape = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

const mountTable = '/proc/self/mountinfo';

/**
 * Makes a directory a shared mount, so that mounts propagate between host and containers; does nothing when it is shared.
 * Needs root. Follows kubelet `MakeRShared`.
 *
 * @throws {AgentError} `internal` when that fails
 */
export async function makeShared(dir: string): Promise<void> {
  const real = realpathSync(dir);
  if (isShared(readFileSync(mountTable, 'utf8'), real)) return;
  await call('mount', ['--bind'], [real, real]);
  await call('mount', ['--make-rshared'], [real]);
}

/** True when the mount that contains a path is shared. @param mountInfo lines of `/proc/PID/mountinfo` */
export function isShared(mountInfo: string, path: string): boolean {
  const holders = mountInfo.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const point = unescape(fields[4] ?? '');
    const holds = point !== '' && (path === point || path.startsWith(point === '/' ? '/' : `${point}/`));
    return holds ? [{ point, shared: fields.slice(6, fields.indexOf('-')).some(isPeerGroup) }] : [];
  });
  // Of several mounts on one point, the last is on top.
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

/** Filters mount points to those at or below a directory. */
export const pointsBelow = (dir: string, points: readonly string[]): readonly string[] =>
  points.filter((point) => point === dir || point.startsWith(`${dir}/`));

let looking: Promise<ReadonlySet<string>> | undefined;

/**
 * Returns all mount points of the host. The kernel takes milliseconds to list them on a busy node, so concurrent calls
 * share one read.
 */
export function mountPointsSoon(): Promise<ReadonlySet<string>> {
  looking ??= readFile(mountTable, 'utf8')
    .then((table) => new Set(pointsOf(table)))
    .finally(() => {
      looking = undefined;
    });
  return looking;
}

/** Mounts with the host's `mount` and `umount`; needs root. */
export const hostMounter: Mounter = {
  async mountTmpfs(dir, sizeBytes) {
    const options = tmpfsOptions(sizeBytes, release(), readFileSync('/proc/self/uid_map', 'utf8'));
    const flags = options.length === 0 ? [] : ['-o', options.join(',')];
    await call('mount', ['-t', 'tmpfs', ...flags], ['tmpfs', dir]);
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
    // The path is canonical: umount must not access a mount that may hang.
    if (mountPoints().includes(dir)) await call('umount', ['--no-canonicalize'], [dir]);
  },
  isMountPoint: (dir) => mountPoints().includes(dir),
  mountsUnder: (dir) => pointsBelow(dir, mountPoints()),
};

/**
 * Returns the options of tmpfs mounts. `noswap` exists since Linux 6.4, and is refused to the root of a user namespace.
 * Follows kubelet `generateTmpfsMountOptions` and `IsTmpfsNoswapOptionSupported`.
 *
 * @param kernel kernel version from `uname -r`
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
 * @param operands external values that must not be parsed as options
 * @throws {AgentError} `internal` with the command's output, worded as in the kubelet
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
  const { why, output } = typeof end === 'string' ? { why: end, output: '' } : report(end);
  return command === 'mount'
    ? `mount failed: ${why}\nMounting command: mount\nMounting arguments: ${args.join(' ')}\nOutput: ${output}`
    : `unmount failed: ${why}\nUnmounting arguments: ${args.at(-1) ?? ''}\nOutput: ${output}`;
}

const report = ({
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
