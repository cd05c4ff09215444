import type { CgroupFamily, CgroupSeries } from './cgroup-metrics.ts';
import type { FsUsage } from './usage.ts';

/** Column of each number in `/proc/diskstats`, relative to the device name, and the size of its unit. */
const counters = {
  container_fs_reads_total: [1, 1],
  container_fs_reads_merged_total: [2, 1],
  container_fs_sector_reads_total: [3, 1],
  container_fs_read_seconds_total: [4, 1000],
  container_fs_writes_total: [5, 1],
  container_fs_writes_merged_total: [6, 1],
  container_fs_sector_writes_total: [7, 1],
  container_fs_write_seconds_total: [8, 1000],
  container_fs_io_current: [9, 1],
  container_fs_io_time_seconds_total: [10, 1000],
  container_fs_io_time_weighted_seconds_total: [11, 1000],
} as const satisfies Readonly<Partial<Record<CgroupFamily, readonly [number, number]>>>;

/**
 * Returns the file system of a directory and the counters of its disk; 0 for a file system without a disk.
 *
 * @param read returns the text of a kernel file
 */
export function diskOf(
  root: string,
  fs: FsUsage,
  read: (path: string) => string | undefined,
): readonly CgroupSeries[] {
  const mount = mountOf(root, read('/proc/self/mountinfo') ?? '');
  if (!mount) return [];
  const labels = { device: mount.source };
  const lines = (read('/proc/diskstats') ?? '').split('\n').map((line) => line.trim().split(/\s+/));
  const own = lines.find(([major, minor]) => `${major}:${minor}` === mount.device)?.slice(2) ?? [];
  const amounts = {
    container_fs_limit_bytes: fs.capacityBytes,
    container_fs_usage_bytes: fs.usedBytes,
    container_fs_inodes_total: fs.inodes,
    container_fs_inodes_free: fs.inodesFree,
  };
  return [
    ...Object.entries(amounts).map(([family, value]) => ({ family: family as CgroupFamily, value, labels })),
    ...Object.entries(counters).map(([family, [at, perUnit]]) => ({
      family: family as CgroupFamily,
      value: Number(own[at] ?? 0) / perUnit,
      labels,
    })),
  ];
}

/** Returns the mount that contains a directory: the deepest, and of several at one mount point the last. */
function mountOf(
  folder: string,
  mountinfo: string,
): { readonly device: string; readonly source: string } | undefined {
  const found = mountinfo.split('\n').flatMap((line) => {
    const [mounted = '', about = ''] = line.split(' - ');
    const [, , device = '', , point = ''] = mounted.split(' ');
    const inside = point === '/' || folder === point || folder.startsWith(`${point}/`);
    return point !== '' && inside ? [{ device, source: about.split(' ')[1] ?? '', point }] : [];
  });
  return found.toSorted((a, b) => a.point.length - b.point.length).at(-1);
}
