import type { CgroupHost } from './host.ts';

/** Resource usage of a cgroup; absent members could not be read. */
export interface CgroupUsage {
  /** Cumulative CPU time on all CPUs, nanoseconds. */
  readonly cpuNanos?: number;
  readonly memory?: MemoryUsage;
  readonly swapBytes?: number;
  readonly processes?: number;
  /** Pressure stall information; cgroup v2 only. */
  readonly pressure?: Readonly<Partial<Record<PressureKind, Pressure>>>;
}

export type PressureKind = 'cpu' | 'memory' | 'io';

/** Time for which some, or all, processes of the cgroup were stalled; totals in ns, averages in percent. */
export type Pressure = Readonly<Record<'full' | 'some', PressureLine>>;

interface PressureLine {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface MemoryUsage {
  readonly usageBytes: number;
  /** Memory usage without inactive file cache (cAdvisor's definition, which kubelet eviction uses). */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Memory limit; absent: unlimited. */
  readonly limitBytes?: number;
}

/** Reads a control file of one cgroup's controller; `undefined` when it does not exist. */
export type ReadControl = (controller: string, file: string) => string | undefined;

/** Names of the control files and their keys in one cgroup version. */
interface Names {
  readonly cpuNanos: (read: ReadControl) => number | undefined;
  readonly usage: string;
  readonly limit: string;
  readonly inactiveFile: string;
  readonly rss: string;
  readonly pageFaults: string;
  readonly majorPageFaults: string;
  readonly swap: (read: ReadControl, stat: ReadonlyMap<string, number>) => number | undefined;
}

const names: Readonly<Record<CgroupHost['version'], Names>> = {
  1: {
    cpuNanos: (read) => numberOf(read('cpuacct', 'cpuacct.usage')),
    usage: 'memory.usage_in_bytes',
    limit: 'memory.limit_in_bytes',
    inactiveFile: 'total_inactive_file',
    rss: 'total_rss',
    pageFaults: 'total_pgfault',
    majorPageFaults: 'total_pgmajfault',
    swap: (_read, stat) => stat.get('total_swap'),
  },
  2: {
    cpuNanos: (read) => {
      const micros = tableOf(read('cpu', 'cpu.stat')).get('usage_usec');
      return micros === undefined ? undefined : micros * 1000;
    },
    usage: 'memory.current',
    limit: 'memory.max',
    inactiveFile: 'inactive_file',
    rss: 'anon',
    pageFaults: 'pgfault',
    majorPageFaults: 'pgmajfault',
    swap: (read) => numberOf(read('memory', 'memory.swap.current')),
  },
};

/** Values from here on mean no limit: v1 writes the largest possible number of pages. */
const unlimitedFrom = 2 ** 62;

/** Reads resource usage from a cgroup's control files. Follows cAdvisor. */
export function usageOf(read: ReadControl, version: CgroupHost['version']): CgroupUsage {
  const own = names[version];
  const stat = tableOf(read('memory', 'memory.stat'));
  const cpuNanos = own.cpuNanos(read);
  const usageBytes = numberOf(read('memory', own.usage));
  const limitBytes = numberOf(read('memory', own.limit));
  const swapBytes = own.swap(read, stat);
  const processes = numberOf(read('pids', 'pids.current'));
  return {
    ...(cpuNanos !== undefined && { cpuNanos }),
    ...(usageBytes !== undefined && {
      memory: {
        usageBytes,
        workingSetBytes: Math.max(0, usageBytes - (stat.get(own.inactiveFile) ?? 0)),
        rssBytes: stat.get(own.rss) ?? 0,
        pageFaults: stat.get(own.pageFaults) ?? 0,
        majorPageFaults: stat.get(own.majorPageFaults) ?? 0,
        ...(limitBytes !== undefined && limitBytes < unlimitedFrom && { limitBytes }),
      },
    }),
    ...(swapBytes !== undefined && { swapBytes }),
    ...(processes !== undefined && { processes }),
    ...pressureOf(read, version),
  };
}

function pressureOf(read: ReadControl, version: CgroupHost['version']): Pick<CgroupUsage, 'pressure'> {
  const kinds = (['cpu', 'memory', 'io'] as const).flatMap((kind) => {
    const text = version === 2 ? read(kind, `${kind}.pressure`) : undefined;
    return text === undefined
      ? []
      : [[kind, { full: stalls(text, 'full'), some: stalls(text, 'some') }] as const];
  });
  return kinds.length > 0 ? { pressure: Object.fromEntries(kinds) } : {};
}

/** Parses one line, such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`; the kernel's total is in µs. */
function stalls(text: string, line: 'full' | 'some'): PressureLine {
  const found = new RegExp(`^${line} (.*)$`, 'm').exec(text)?.[1] ?? '';
  const value = (name: string): number => Number(new RegExp(`${name}=([\\d.]+)`).exec(found)?.[1] ?? 0);
  const [avg10, avg60, avg300] = ['avg10', 'avg60', 'avg300'].map(value);
  return { total: value('total') * 1000, avg10: avg10 ?? 0, avg60: avg60 ?? 0, avg300: avg300 ?? 0 };
}

/**
 * Returns the memory usage of the whole machine, as the v2 root cgroup has no usage of its own.
 *
 * @param meminfo the text of `/proc/meminfo`
 * @param stat the text of the root cgroup's `memory.stat`, which counts page faults
 */
export function machineMemoryOf(meminfo: string, stat = ''): MemoryUsage | undefined {
  const kib = new Map(
    [...meminfo.matchAll(/^([^:]+):\s+(\d+) kB$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  );
  const bytes = (name: string): number => (kib.get(name) ?? 0) * 1024;
  if (!kib.has('MemTotal')) return undefined;
  const usageBytes = bytes('MemTotal') - bytes('MemFree');
  const faults = tableOf(stat);
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - bytes('Inactive(file)')),
    rssBytes: bytes('AnonPages'),
    pageFaults: faults.get('pgfault') ?? 0,
    majorPageFaults: faults.get('pgmajfault') ?? 0,
    limitBytes: bytes('MemTotal'),
  };
}

/** Parses a control value; `max` and anything else that is not a number gives `undefined`. */
export function numberOf(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  return /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** Parses lines that consist of a name and a number. */
export function tableOf(text = ''): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  const line = /^(\S+) (\d+)$/gm;
  for (let found = line.exec(text); found; found = line.exec(text))
    table.set(found[1] ?? '', Number(found[2]));
  return table;
}
