import { tableOf } from '../../base/own.ts';
/** Cumulative usage of a node or a container, as its kubelet reported it at one time. */
export interface Reading {
  /** ms since the epoch */
  readonly at: number;
  /** ms since the epoch; absent: not reported */
  readonly startedAt?: number;
  /** Processor time since the start, ns. */
  readonly cpuNanos: number;
  /** The working set. */
  readonly memoryBytes: number;
}

/** The last reading, and the one that the rate is computed from. */
export interface Pair {
  readonly last: Reading;
  readonly first?: Reading;
}

/** Current usage. */
export interface Use {
  /** ms since the epoch */
  readonly at: number;
  readonly windowMs: number;
  /** Nanocores. */
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

/** The readings in one response of a kubelet. */
export interface Readings {
  readonly node: Reading | undefined;
  /** By `namespace/pod`, then by container. Pods with missing values are left out. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Reading>>;
}

/** How long readings are valid, ms (metrics-server `--metric-resolution`). */
export const resolutionMs = 15_000;
/** A longer window does not describe the current usage. */
const longestWindowMs = 4 * resolutionMs;
/** Minimum age of a container for a rate since its start (metrics-server `freshContainerMinMetricsResolution`). */
const leastAgeMs = 10_000;

type Part = 'cpu' | 'memory' | 'start';
type Draft = Partial<Record<Part, number>> & { at: number };

const series: Readonly<Record<string, Part>> = tableOf({
  node_cpu_usage_seconds_total: 'cpu',
  node_memory_working_set_bytes: 'memory',
  container_cpu_usage_seconds_total: 'cpu',
  container_memory_working_set_bytes: 'memory',
  container_start_time_seconds: 'start',
});

function finished({ at, cpu, memory, start }: Draft): Reading | undefined {
  if (cpu === undefined || memory === undefined || !Number.isFinite(cpu + memory)) return undefined;
  return {
    at,
    cpuNanos: Math.round(cpu * 1e9),
    memoryBytes: Math.round(memory),
    ...(start !== undefined && { startedAt: start * 1000 }),
  };
}

/** Parses a kubelet's `/metrics/resource`. @param now time of the response, for series without a timestamp; ms since the epoch */
export function readResourceMetrics(text: string, now: number): Readings {
  const node: Draft = { at: now };
  const pods = new Map<string, Map<string, Draft>>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = '', time] =
      /^(\w+)(?:\{(.*)\})? ([^ ]+)(?: (-?\d+))?$/.exec(line) ?? [];
    const part = series[name];
    if (part === undefined) continue;
    const draft = name.startsWith('node_') ? node : containerDraft(pods, labels, now);
    draft[part] = Number(value);
    // The rate is computed from processor time, so its timestamp counts.
    if (time !== undefined && part === 'cpu') draft.at = Number(time);
  }
  return {
    node: finished(node),
    pods: new Map(
      [...pods].flatMap(([key, drafts]) => {
        const whole = [...drafts].flatMap(([name, draft]) => {
          const reading = finished(draft);
          return reading ? [[name, reading] as const] : [];
        });
        return whole.length === drafts.size ? [[key, new Map(whole)]] : [];
      }),
    ),
  };
}

function containerDraft(pods: Map<string, Map<string, Draft>>, labels: string, now: number): Draft {
  const {
    namespace = '',
    pod = '',
    container = '',
  } = Object.fromEntries(
    [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  ) as Readonly<Record<string, string>>;
  const key = `${namespace}/${pod}`;
  const drafts = pods.get(key) ?? new Map<string, Draft>();
  pods.set(key, drafts);
  const draft = drafts.get(container) ?? { at: now };
  drafts.set(container, draft);
  return draft;
}

/**
 * Returns the pair after one more reading. The rate is computed from the previous reading, unless that is from an earlier instance or
 * long ago; one shortly after it does not shorten the window. For a container that started in between it is computed from its start.
 */
export function nextPair(pair: Pair | undefined, last: Reading): Pair {
  if (pair && sameLife(pair.last, last) && last.at - pair.last.at <= longestWindowMs) {
    if (last.at <= pair.last.at) return pair;
    const soon = last.at - pair.last.at < resolutionMs / 2;
    return { last, first: (soon ? pair.first : undefined) ?? pair.last };
  }
  const { startedAt } = last;
  const age = startedAt === undefined ? 0 : last.at - startedAt;
  const young = startedAt !== undefined && age >= leastAgeMs && age < resolutionMs;
  return young ? { last, first: { at: startedAt, startedAt, cpuNanos: 0, memoryBytes: 0 } } : { last };
}

const sameLife = (before: Reading, { startedAt, cpuNanos }: Reading): boolean =>
  cpuNanos >= before.cpuNanos && (startedAt === undefined || startedAt <= before.at);

/** Returns the usage between the two readings; undefined with only one. */
export function useOf({ last, first }: Pair): Use | undefined {
  if (!first) return undefined;
  const windowMs = last.at - first.at;
  return {
    at: last.at,
    windowMs,
    cpuNanoCores: Math.floor(((last.cpuNanos - first.cpuNanos) / windowMs) * 1000),
    memoryBytes: last.memoryBytes,
  };
}
