import { tableOf as constantTable } from '../../base/own.ts';
import type { CgroupFamily, CgroupSeries } from './cgroup-metrics.ts';
import { weightToShares } from '../../kube/cgroup.ts';
import type { CgroupHost } from '../cm/host.ts';
import { numberOf, type ReadControl, tableOf, usageOf } from '../cm/usage.ts';

type Values = Readonly<Partial<Record<CgroupFamily, number | undefined>>>;

const series = (values: Values): readonly CgroupSeries[] =>
  Object.entries(values).flatMap(([family, value]) =>
    value === undefined ? [] : [{ family: family as CgroupFamily, value }],
  );

/** Returns 0 for a value that the kernel omits, as long as memory is counted at all. */
const orZero = (stat: ReadonlyMap<string, number>, value: number | undefined): number | undefined =>
  value ?? (stat.size > 0 ? 0 : undefined);

const seconds = (amount: number | undefined, perSecond: number): number | undefined =>
  amount === undefined ? undefined : amount / perSecond;

/** Parses a limit; no limit is reported as 0. */
const limitOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const value = numberOf(text);
  return value === undefined || value > 2 ** 62 ? 0 : value;
};

/** Returns the values of one cgroup's control files. Follows cAdvisor's `libcontainer` handler and `GetSpec`. */
export function cgroupSeries(read: ReadControl, version: CgroupHost['version']): readonly CgroupSeries[] {
  const { cpuNanos, memory, pressure = {} } = usageOf(read, version);
  const total = seconds(cpuNanos, 1e9);
  const faults = memory && [
    ['pgfault', memory.pageFaults],
    ['pgmajfault', memory.majorPageFaults],
  ];
  return [
    ...(total === undefined
      ? []
      : [{ family: 'container_cpu_usage_seconds_total' as const, value: total, labels: { cpu: 'total' } }]),
    ...series({
      container_memory_usage_bytes: memory?.usageBytes,
      container_memory_working_set_bytes: memory?.workingSetBytes,
      container_memory_rss: memory?.rssBytes,
      container_threads: numberOf(read('pids', 'pids.current')),
      container_threads_max: limitOf(read('pids', 'pids.max')),
    }),
    ...(faults ?? []).flatMap(([failure_type, value]) =>
      ['container', 'hierarchy'].map((scope) => ({
        family: 'container_memory_failures_total' as const,
        value: Number(value),
        labels: { failure_type: String(failure_type), scope },
      })),
    ),
    ...(version === 2 ? v2Series(read) : v1Series(read)),
    ...(['cpu', 'memory', 'io'] as const).flatMap((kind) =>
      series({
        [`container_pressure_${kind}_waiting_seconds_total`]: seconds(pressure[kind]?.some.total, 1e9),
        [`container_pressure_${kind}_stalled_seconds_total`]: seconds(pressure[kind]?.full.total, 1e9),
      }),
    ),
  ];
}

/** Returns how often a cgroup with a CPU quota was throttled; empty without a quota. */
const throttling = (stat: ReadonlyMap<string, number>, throttled: number | undefined): Values => ({
  container_cpu_cfs_periods_total: stat.get('nr_periods'),
  container_cpu_cfs_throttled_periods_total: stat.get('nr_throttled'),
  container_cpu_cfs_throttled_seconds_total: throttled,
});

function v2Series(read: ReadControl): readonly CgroupSeries[] {
  const cpu = tableOf(read('cpu', 'cpu.stat'));
  const stat = tableOf(read('memory', 'memory.stat'));
  const events = tableOf(read('memory', 'memory.events'));
  const [quota, period] = (read('cpu', 'cpu.max') ?? '').trim().split(' ');
  const weight = numberOf(read('cpu', 'cpu.weight'));
  const hasQuota = numberOf(quota) !== undefined;
  return [
    ...series({
      container_cpu_user_seconds_total: seconds(cpu.get('user_usec'), 1e6),
      container_cpu_system_seconds_total: seconds(cpu.get('system_usec'), 1e6),
      ...(hasQuota && throttling(cpu, seconds(cpu.get('throttled_usec'), 1e6))),
      container_memory_cache: stat.get('file'),
      container_memory_mapped_file: stat.get('file_mapped'),
      container_memory_total_active_file_bytes: stat.get('active_file'),
      container_memory_total_inactive_file_bytes: stat.get('inactive_file'),
      container_memory_kernel_usage: stat.get('kernel'),
      container_memory_swap: orZero(stat, numberOf(read('memory', 'memory.swap.current'))),
      container_memory_failcnt: events.get('max'),
      container_oom_events_total: events.get('oom_kill'),
      container_memory_max_usage_bytes: orZero(stat, numberOf(read('memory', 'memory.peak'))),
      container_spec_memory_limit_bytes: limitOf(read('memory', 'memory.max')),
      container_spec_memory_swap_limit_bytes: orZero(stat, limitOf(read('memory', 'memory.swap.max'))),
      container_spec_memory_reservation_limit_bytes: limitOf(read('memory', 'memory.min')),
      container_spec_cpu_shares: weight === undefined ? undefined : weightToShares(weight),
      container_spec_cpu_period: numberOf(period),
      container_spec_cpu_quota: numberOf(quota),
    }),
    ...ioSeries(v2Io(read('io', 'io.stat') ?? '')),
  ];
}

function v1Series(read: ReadControl): readonly CgroupSeries[] {
  const cpu = tableOf(read('cpu', 'cpu.stat'));
  const stat = tableOf(read('memory', 'memory.stat'));
  const quota = Number(read('cpu', 'cpu.cfs_quota_us') ?? -1);
  return [
    ...series({
      container_cpu_user_seconds_total: seconds(numberOf(read('cpuacct', 'cpuacct.usage_user')), 1e9),
      container_cpu_system_seconds_total: seconds(numberOf(read('cpuacct', 'cpuacct.usage_sys')), 1e9),
      ...(quota > 0 && throttling(cpu, seconds(cpu.get('throttled_time'), 1e9))),
      container_memory_cache: stat.get('total_cache'),
      container_memory_mapped_file: stat.get('total_mapped_file'),
      container_memory_total_active_file_bytes: stat.get('total_active_file'),
      container_memory_total_inactive_file_bytes: stat.get('total_inactive_file'),
      container_memory_kernel_usage: numberOf(read('memory', 'memory.kmem.usage_in_bytes')),
      container_memory_swap: stat.get('total_swap'),
      container_memory_failcnt: numberOf(read('memory', 'memory.failcnt')),
      container_oom_events_total: tableOf(read('memory', 'memory.oom_control')).get('oom_kill'),
      container_memory_max_usage_bytes: numberOf(read('memory', 'memory.max_usage_in_bytes')),
      container_spec_memory_limit_bytes: limitOf(read('memory', 'memory.limit_in_bytes')),
      container_spec_memory_swap_limit_bytes: orZero(
        stat,
        limitOf(read('memory', 'memory.memsw.limit_in_bytes')),
      ),
      container_spec_memory_reservation_limit_bytes: limitOf(read('memory', 'memory.soft_limit_in_bytes')),
      container_spec_cpu_shares: numberOf(read('cpu', 'cpu.shares')),
      container_spec_cpu_period: numberOf(read('cpu', 'cpu.cfs_period_us')),
      container_spec_cpu_quota: quota > 0 ? quota : undefined,
    }),
    ...ioSeries(v1Io(read)),
  ];
}

/** Bytes and operations on one device, by the kernel's keywords. */
interface DeviceIo {
  /** `major:minor` */
  readonly device: string;
  readonly operation: string;
  readonly bytes?: number;
  readonly count?: number;
}

const ioFamilies: Readonly<Record<string, readonly [CgroupFamily, CgroupFamily]>> = constantTable({
  Read: ['container_fs_reads_bytes_total', 'container_fs_reads_total'],
  Write: ['container_fs_writes_bytes_total', 'container_fs_writes_total'],
});

const ioSeries = (all: readonly DeviceIo[]): readonly CgroupSeries[] =>
  all.flatMap(({ device, operation, bytes, count }) => {
    const [major = '', minor = ''] = device.split(':');
    const [ofBytes, ofCount] = ioFamilies[operation] ?? [];
    const seriesOf = (
      family: CgroupFamily | undefined,
      value: number | undefined,
    ): readonly CgroupSeries[] =>
      family === undefined || value === undefined ? [] : [{ family, value, labels: { device } }];
    const labels = { device, major, minor, operation };
    return [
      ...(bytes === undefined
        ? []
        : [{ family: 'container_blkio_device_usage_total' as const, value: bytes, labels }]),
      ...seriesOf(ofBytes, bytes),
      ...seriesOf(ofCount, count),
    ];
  });

/** Parses lines such as `254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`. */
function v2Io(text: string): readonly DeviceIo[] {
  return [...text.matchAll(/^(\d+:\d+) (.*)$/gm)].flatMap(([, device = '', rest = '']) => {
    const values = new Map(rest.split(' ').map((pair) => pair.split('=') as [string, string]));
    return [['Read', 'r'] as const, ['Write', 'w'] as const].map(([operation, letter]) => ({
      device,
      operation,
      bytes: Number(values.get(`${letter}bytes`) ?? 0),
      count: Number(values.get(`${letter}ios`) ?? 0),
    }));
  });
}

/** Parses lines such as `254:0 Read 4096`. */
function v1Io(read: ReadControl): readonly DeviceIo[] {
  const lines = (file: string): readonly (readonly [string, number])[] =>
    [...(read('blkio', `blkio.throttle.${file}_recursive`) ?? '').matchAll(/^(\d+:\d+ \w+) (\d+)$/gm)].map(
      ([, key = '', value]) => [key, Number(value)],
    );
  const counts = new Map(lines('io_serviced'));
  return lines('io_service_bytes').map(([key, bytes]) => {
    const [device = '', operation = ''] = key.split(' ');
    const count = counts.get(key);
    return { device, operation, bytes, ...(count !== undefined && { count }) };
  });
}
