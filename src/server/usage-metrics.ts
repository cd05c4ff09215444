import { tableOf } from '../base/own.ts';
import type { ContainerUsage } from '../provider/usage.ts';
import { cgroupMetrics, type CgroupReading } from '../containers/stats/cgroup-metrics.ts';
import { single } from '../metrics/metrics.ts';
import { type NodeUsage, type ServedPodUsage, sumOf, type Usage } from '../containers/stats/usage.ts';
import type { MetricFamily, Sample } from '../metrics/family.ts';

type Labels = Readonly<Record<string, string>>;

const seconds = (nanos: number | undefined): number | undefined =>
  nanos === undefined ? undefined : nanos / 1e9;

const samples = (labels: Labels, value: number | undefined, at?: number): readonly Sample[] =>
  value === undefined ? [] : [{ labels, value, ...(at !== undefined && { at }) }];

interface Row {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

interface ContainerRow extends Row {
  readonly of: (one: ContainerUsage) => number | undefined;
}

interface PodRow extends Row {
  readonly of: (sum: ReturnType<typeof sumOf>) => number | undefined;
}

interface NodeRow extends Row {
  readonly of: (node: NodeUsage) => number;
}

const nodeRows: readonly NodeRow[] = [
  {
    name: 'node_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed by the node in core-seconds',
    of: ({ cpuNanos }) => cpuNanos / 1e9,
  },
  {
    name: 'node_memory_working_set_bytes',
    type: 'gauge',
    help: 'Current working set of the node in bytes',
    of: ({ workingSetBytes }) => workingSetBytes,
  },
  {
    name: 'node_swap_usage_bytes',
    type: 'gauge',
    help: 'Current swap usage of the node in bytes',
    of: ({ swapUsedBytes }) => swapUsedBytes,
  },
];

const startTimeRow: Row = {
  name: 'container_start_time_seconds',
  type: 'gauge',
  help: 'Start time of the container since unix epoch in seconds',
};

const containerRows: readonly ContainerRow[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed by the container in core-seconds',
    of: ({ cpuNanos }) => seconds(cpuNanos),
  },
  {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: 'Current working set of the container in bytes',
    of: ({ workingSetBytes }) => workingSetBytes,
  },
  {
    name: 'container_swap_usage_bytes',
    type: 'gauge',
    help: 'Current amount of the container swap usage in bytes',
    of: ({ swapBytes }) => swapBytes,
  },
  {
    name: 'container_swap_limit_bytes',
    type: 'gauge',
    help: 'Current amount of the container swap limit in bytes',
    of: ({ swapBytes, swapAvailableBytes }) =>
      swapBytes === undefined || swapAvailableBytes === undefined
        ? undefined
        : swapBytes + swapAvailableBytes,
  },
];

const podRows: readonly PodRow[] = [
  {
    name: 'pod_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed by the pod in core-seconds',
    of: ({ cpuNanos }) => seconds(cpuNanos),
  },
  {
    name: 'pod_memory_working_set_bytes',
    type: 'gauge',
    help: 'Current working set of the pod in bytes',
    of: ({ workingSetBytes }) => workingSetBytes,
  },
  {
    name: 'pod_swap_usage_bytes',
    type: 'gauge',
    help: 'Current amount of the pod swap usage in bytes',
    of: ({ swapBytes }) => swapBytes,
  },
];

/** Returns the families of `/metrics/resource`, which metrics-server scrapes. @param usage undefined when it could not be read */
export function resourceMetrics(usage: Usage | undefined): readonly MetricFamily[] {
  const error = single(
    'resource_scrape_error',
    'gauge',
    '1 if there was an error while getting container metrics, 0 otherwise',
    usage ? 0 : 1,
  );
  if (!usage) return [error];
  const { node, pods } = usage;
  return [
    error,
    ...nodeRows.map(({ of, ...row }) => ({ ...row, samples: samples({}, of(node), node.at) })),
    ...containerRows.map(({ of, ...row }) => ({ ...row, samples: containerSamples(pods, of) })),
    { ...startTimeRow, samples: startTimes(pods) },
    ...podRows.map(({ of, ...row }) => ({
      ...row,
      samples: pods.flatMap((pod) =>
        samples({ namespace: pod.namespace, pod: pod.name }, of(sumOf(pod)), node.at),
      ),
    })),
  ];
}

const containerSamples = (
  pods: readonly ServedPodUsage[],
  of: (one: ContainerUsage) => number | undefined,
): readonly Sample[] =>
  pods.flatMap(({ namespace, name: pod, containers }) =>
    containers.flatMap((one) => samples({ container: one.name, namespace, pod }, of(one), one.at)),
  );

/** Container start times, the one family whose samples have no timestamp. */
const startTimes = (pods: readonly ServedPodUsage[]): readonly Sample[] =>
  pods.flatMap(({ namespace, name: pod, containers }) =>
    containers.flatMap(({ name, startedAt }) =>
      samples({ container: name, namespace, pod }, startedAt === undefined ? undefined : startedAt / 1000),
    ),
  );

const cadvisorRows: readonly ContainerRow[] = [
  {
    ...row('container_cpu_usage_seconds_total', 'counter', 'Cumulative cpu time consumed in seconds.'),
    of: ({ cpuNanos }) => seconds(cpuNanos),
  },
  {
    ...row('container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.'),
    of: ({ workingSetBytes }) => workingSetBytes,
  },
  {
    ...row(
      'container_memory_usage_bytes',
      'gauge',
      'Current memory usage in bytes, including all memory regardless of when it was accessed',
    ),
    of: ({ memoryBytes }) => memoryBytes,
  },
  { ...row('container_memory_rss', 'gauge', 'Size of RSS in bytes.'), of: ({ rssBytes }) => rssBytes },
  {
    ...row(
      'container_start_time_seconds',
      'gauge',
      'Start time of the container since unix epoch in seconds.',
    ),
    of: ({ startedAt }) => (startedAt === undefined ? undefined : startedAt / 1000),
  },
  {
    ...row(
      'container_fs_usage_bytes',
      'gauge',
      'Number of bytes that are consumed by the container on this filesystem.',
    ),
    of: ({ rootfsBytes }) => rootfsBytes,
  },
  {
    ...row('container_last_seen', 'gauge', 'Last time a container was seen by the exporter'),
    of: ({ at }) => Math.floor(at / 1000),
  },
];

function row(name: string, type: Row['type'], help: string): Row {
  return { name, type, help };
}

/**
 * Returns the families of `/metrics/cadvisor`.
 *
 * @param readings of all cgroups; absent: the series that dashboards use, as far as the provider has the values
 */
export function cadvisorMetrics(
  { pods, node }: Usage,
  readings?: readonly CgroupReading[],
): readonly MetricFamily[] {
  const { bootId = '', machineId = '', systemUuid = '' } = node.machine ?? {};
  const labels = { boot_id: bootId, machine_id: machineId, system_uuid: systemUuid };
  return [
    ...(readings ? cgroupMetrics(readings) : containerMetrics(pods)),
    {
      ...row('machine_memory_bytes', 'gauge', 'Amount of memory installed on the machine.'),
      samples: [{ labels, value: node.memoryTotalBytes }],
    },
  ];
}

const containerMetrics = (pods: readonly ServedPodUsage[]): readonly MetricFamily[] =>
  cadvisorRows.map(({ of, ...family }) => ({
    ...family,
    samples: pods.flatMap((pod) =>
      pod.containers.flatMap((one) =>
        samples({ ...cadvisorLabels(pod, one), ...ownLabels[family.name] }, of(one), one.at),
      ),
    ),
  }));

/** Labels of one family only; usage of all processors and of the one file system is reported in one series. */
const ownLabels: Readonly<Record<string, Labels>> = tableOf({
  container_cpu_usage_seconds_total: { cpu: 'total' },
  container_fs_usage_bytes: { device: '' },
});

const cadvisorLabels = (
  { uid, name: pod, namespace }: ServedPodUsage,
  { id, name }: ContainerUsage,
): Labels => ({
  container: name,
  id: `/kubepods/pod${uid}/${id.replace(/^\w+:\/\//, '')}`,
  image: '',
  name: id.replace(/^\w+:\/\//, ''),
  namespace,
  pod,
});
