import { sharesToWeight, weightToShares } from '../../kube/cgroup.ts';
import { hugePageUnit } from '../../kube/resources/huge-page-unit.ts';
import type { CgroupHost } from './host.ts';

/** Settings of a cgroup; an absent member is left unchanged. */
export interface CgroupSettings {
  readonly cpuShares?: number;
  /** CPU quota per period in microseconds; -1 is unlimited, 0 leaves it unchanged. */
  readonly cpuQuota?: number;
  /** CPU period in microseconds. */
  readonly cpuPeriod?: number;
  /** Memory limit in bytes; -1 is unlimited, 0 leaves it unchanged. */
  readonly memory?: number;
  /** Maximum number of processes and threads; -1 is unlimited. */
  readonly pids?: number;
  /** Limit in bytes by huge page size in bytes. */
  readonly hugePageLimit?: Readonly<Record<string, number>>;
  /** Values of further cgroup v2 files, such as `memory.low`. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** A write to one control file. */
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

/** Writes the period before the quota, which must not exceed it, as runc's libcontainer does. */
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
 * Returns the control file writes that apply the settings, in write order. Once any huge page size has a limit, sizes without a limit
 * are set to 0.
 *
 * @param hugePageSizes sizes that the host offers, such as `2MB`
 */
export function cgroupWrites(
  settings: CgroupSettings,
  version: Version,
  hugePageSizes: readonly string[] = [],
): readonly CgroupWrite[] {
  const { memory = 0, pids, hugePageLimit, unified = {} } = settings;
  const { memory: memoryFile, hugePages } = files[version];
  const textOf = (value: number): string => (value === -1 ? unlimited[version] : String(value));
  const allowed = new Map(
    Object.entries(hugePageLimit ?? {}).map(([size, limit]) => [hugePageUnit(Number(size)), limit]),
  );
  return [
    ...cpuWrites[version](settings),
    ...(memory !== 0 ? [{ controller: 'memory', file: memoryFile, value: textOf(memory) }] : []),
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

/** The current configuration of a cgroup; absent members could not be read. */
export type CgroupConfig = Pick<CgroupSettings, 'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memory'>;

/**
 * Reads CPU and memory settings of a cgroup; -1 means unlimited (v1 writes the largest possible number of pages). Follows kubelet
 * `GetCgroupConfig`.
 *
 * @param read returns the text of a controller's file
 */
export function cgroupConfigOf(
  read: (controller: string, file: string) => string | undefined,
  version: Version,
): CgroupConfig {
  const { memory: memoryFile } = files[version];
  const memory = numberOf(read('memory', memoryFile));
  return { ...cpuConfigs[version](read), ...(memory !== undefined && { memory }) };
}

const cpuConfigs: Readonly<
  Record<Version, (read: (controller: string, file: string) => string | undefined) => CgroupConfig>
> = {
  1: (read) => {
    const cpuShares = numberOf(read('cpu', 'cpu.shares'));
    const cpuQuota = numberOf(read('cpu', 'cpu.cfs_quota_us'));
    const cpuPeriod = numberOf(read('cpu', 'cpu.cfs_period_us'));
    return defined({ cpuShares, cpuQuota, cpuPeriod });
  },
  2: (read) => {
    const weight = numberOf(read('cpu', 'cpu.weight'));
    const [quota, period] = (read('cpu', 'cpu.max') ?? '').trim().split(' ');
    const cpuShares = weight === undefined ? undefined : weightToShares(weight);
    return defined({ cpuShares, cpuQuota: numberOf(quota), cpuPeriod: numberOf(period) });
  },
};

const defined = (config: { readonly [K in keyof CgroupConfig]: CgroupConfig[K] | undefined }): CgroupConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));

/** Parses a control value; `max` means no limit. */
function numberOf(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (trimmed === 'max') return -1;
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}
