import { sharesToWeight } from '../../kube/cgroup.ts';
import { hugePageUnit } from '../../kuberuntime/huge-pages.ts';
import type { CgroupHost } from './host.ts';

/** What a cgroup is set to; an absent member is left as it is. */
export interface CgroupSettings {
  readonly cpuShares?: number;
  /** Microseconds of CPU per period; -1 is unlimited, 0 leaves it as it is. */
  readonly cpuQuota?: number;
  /** Microseconds. */
  readonly cpuPeriod?: number;
  /** Bytes; -1 is unlimited, 0 leaves it as it is. */
  readonly memory?: number;
  /** Processes and threads at most; -1 is unlimited. */
  readonly pids?: number;
  /** Bytes allowed by page size in bytes. */
  readonly hugePageLimit?: Readonly<Record<string, number>>;
  /** Further files of cgroup v2, e.g. `memory.low`. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** One control file and what is written to it. */
export interface CgroupWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

type Version = CgroupHost['version'];

const cpuWrite = (file: string, value: number | string): CgroupWrite => ({
  controller: 'cpu',
  file,
  value: String(value),
});

/** Follows the way of runc's libcontainer, which kubelet uses: the period comes before the quota that is a part of it. */
const cpuWrites: Readonly<Record<Version, (settings: CgroupSettings) => readonly CgroupWrite[]>> = {
  1: ({ cpuShares = 0, cpuPeriod = 0, cpuQuota = 0 }) => [
    ...(cpuShares !== 0 ? [cpuWrite('cpu.shares', cpuShares)] : []),
    ...(cpuPeriod !== 0 ? [cpuWrite('cpu.cfs_period_us', cpuPeriod)] : []),
    ...(cpuQuota !== 0 ? [cpuWrite('cpu.cfs_quota_us', cpuQuota)] : []),
  ],
  2: ({ cpuShares = 0, cpuPeriod = 0, cpuQuota = 0 }) => {
    const quota = cpuQuota > 0 ? String(cpuQuota) : 'max';
    const max = cpuPeriod === 0 ? quota : `${quota} ${cpuPeriod}`;
    return [
      ...(cpuShares !== 0 ? [cpuWrite('cpu.weight', sharesToWeight(cpuShares))] : []),
      ...(cpuQuota !== 0 || cpuPeriod !== 0 ? [cpuWrite('cpu.max', max)] : []),
    ];
  },
};

const files: Readonly<Record<Version, { readonly memory: string; readonly hugePages: string }>> = {
  1: { memory: 'memory.limit_in_bytes', hugePages: 'limit_in_bytes' },
  2: { memory: 'memory.max', hugePages: 'max' },
};

const unlimited: Readonly<Record<Version, string>> = { 1: '-1', 2: 'max' };

/**
 * The control files that bring a cgroup to its settings, in the order in which they are written. Huge pages of a size that is not named
 * are forbidden as soon as any size is spoken of.
 *
 * @param hugePageSizes of the host, like `2MB`
 */
export function cgroupWrites(
  settings: CgroupSettings,
  version: Version,
  hugePageSizes: readonly string[] = [],
): readonly CgroupWrite[] {
  const { memory = 0, pids, hugePageLimit, unified = {} } = settings;
  const { memory: memoryFile, hugePages } = files[version];
  const numberOf = (value: number): string => (value === -1 ? unlimited[version] : String(value));
  const allowed = new Map(
    Object.entries(hugePageLimit ?? {}).map(([size, limit]) => [hugePageUnit(Number(size)), limit]),
  );
  return [
    ...cpuWrites[version](settings),
    ...(memory !== 0 ? [{ controller: 'memory', file: memoryFile, value: numberOf(memory) }] : []),
    ...(pids !== undefined
      ? [{ controller: 'pids', file: 'pids.max', value: pids < 0 ? 'max' : String(pids) }]
      : []),
    ...(hugePageLimit ? hugePageSizes : []).map((size) => ({
      controller: 'hugetlb',
      file: `hugetlb.${size}.${hugePages}`,
      value: String(allowed.get(size) ?? 0),
    })),
    ...(version === 2 ? Object.entries(unified) : []).map(([file, value]) => ({
      controller: file.split('.')[0] ?? '',
      file,
      value,
    })),
  ];
}

/** The limits that a cgroup has now; an absent one is none. */
export type CgroupLimits = Pick<CgroupSettings, 'cpuQuota' | 'memory'>;

/** Reads the limits of a cgroup. @param read the text of a controller's file */
export function limitsOf(
  read: (controller: string, file: string) => string | undefined,
  version: Version,
): CgroupLimits {
  const quota = version === 1 ? read('cpu', 'cpu.cfs_quota_us') : read('cpu', 'cpu.max')?.split(' ')[0];
  const cpuQuota = wholeOf(quota);
  const memory = wholeOf(read('memory', files[version].memory));
  return { ...(cpuQuota !== undefined && { cpuQuota }), ...(memory !== undefined && { memory }) };
}

/** The part of `wanted` that gives a cgroup with the limits `held` more; what has no limit cannot grow. */
export function growth(wanted: CgroupSettings, held: CgroupLimits): CgroupSettings {
  const { cpuQuota = 0, cpuPeriod, memory = 0 } = wanted;
  const grows = (value: number, limit: number | undefined): boolean =>
    limit !== undefined && (value === -1 || value > limit);
  return {
    ...(grows(cpuQuota, held.cpuQuota) && { cpuQuota, ...(cpuPeriod !== undefined && { cpuPeriod }) }),
    ...(grows(memory, held.memory) && { memory }),
  };
}

/** v1 writes -1, v2 `max` where there is no limit. */
const wholeOf = (text: string | undefined): number | undefined =>
  /^\d+$/.test(text?.trim() ?? '') ? Number(text) : undefined;
