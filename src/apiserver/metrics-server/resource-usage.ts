import { tableOf } from '../../base/own.ts';
/** What a node or a container has used, as its kubelet tells it at one time. */
export interface Reading {
  /** ms since the epoch */
  readonly at: number;
  /** ms since the epoch; absent: not told */
  readonly startedAt?: number;
  /** Processor time since the start, ns. */
  readonly cpuNanos: number;
  /** The working set. */
  readonly memoryBytes: number;
}

/** The last reading, and the one that its rate is reckoned from. */
export interface Pair {
  readonly last: Reading;
  readonly first?: Reading;
}

/** What is in use now. */
export interface Use {
  /** ms since the epoch */
  readonly at: number;
  readonly windowMs: number;
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

/** One answer of a kubelet. */
export interface Readings {
  readonly node: Reading | undefined;
  /** By `namespace/pod`, then by container. A pod of which anything is missing is left out. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Reading>>;
}

/** How long numbers are good, ms (metrics-server `--metric-resolution`). */
export const resolutionMs = 15_000;
/** A window that is longer than this tells of the past, not of now. */
const longestWindowMs = 4 * resolutionMs;
/** A container that is younger tells nothing by its start alone (metrics-server `freshContainerMinMetricsResolution`). */
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

/** Reads a kubelet's `/metrics/resource`. @param now when it came, for series that say no time; ms since the epoch */
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
    // processor time is what the rate is reckoned from: its time counts
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
 * What is known after one more reading. The rate is reckoned from the reading before, unless that is of an earlier life or long ago; one that came soon
 * after does not shorten the window. A container that started in between is reckoned from its start.
 */
export function nextPair(known: Pair | undefined, last: Reading): Pair {
  if (known && sameLife(known.last, last) && last.at - known.last.at <= longestWindowMs) {
    if (last.at <= known.last.at) return known;
    const soon = last.at - known.last.at < resolutionMs / 2;
    return { last, first: (soon ? known.first : undefined) ?? known.last };
  }
  const { startedAt } = last;
  const age = startedAt === undefined ? 0 : last.at - startedAt;
  const young = startedAt !== undefined && age >= leastAgeMs && age < resolutionMs;
  return young ? { last, first: { at: startedAt, startedAt, cpuNanos: 0, memoryBytes: 0 } } : { last };
}

const sameLife = (before: Reading, { startedAt, cpuNanos }: Reading): boolean =>
  cpuNanos >= before.cpuNanos && (startedAt === undefined || startedAt <= before.at);

/** What is in use between the two readings; nothing while there is one only. */
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
