import type { MetricFamily, Sample } from '../../metrics/family.ts';

type Labels = Readonly<Record<string, string>>;

/** Metric families of cgroups: their type and help text. */
const families = {
  container_last_seen: ['gauge', 'Last time a container was seen by the exporter'],
  container_start_time_seconds: ['gauge', 'Start time of the container since unix epoch in seconds.'],
  container_cpu_usage_seconds_total: ['counter', 'Cumulative cpu time consumed in seconds.'],
  container_cpu_user_seconds_total: ['counter', 'Cumulative user cpu time consumed in seconds.'],
  container_cpu_system_seconds_total: ['counter', 'Cumulative system cpu time consumed in seconds.'],
  container_cpu_cfs_periods_total: ['counter', 'Number of elapsed enforcement period intervals.'],
  container_cpu_cfs_throttled_periods_total: ['counter', 'Number of throttled period intervals.'],
  container_cpu_cfs_throttled_seconds_total: [
    'counter',
    'Total time duration the container has been throttled.',
  ],
  container_memory_cache: ['gauge', 'Number of bytes of page cache memory.'],
  container_memory_rss: ['gauge', 'Size of RSS in bytes.'],
  container_memory_mapped_file: ['gauge', 'Size of memory mapped files in bytes.'],
  container_memory_swap: ['gauge', 'Container swap usage in bytes.'],
  container_memory_kernel_usage: ['gauge', 'Size of kernel memory allocated in bytes.'],
  container_memory_failcnt: ['counter', 'Number of memory usage hits limits'],
  container_memory_usage_bytes: [
    'gauge',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
  ],
  container_memory_max_usage_bytes: ['gauge', 'Maximum memory usage recorded in bytes'],
  container_memory_working_set_bytes: ['gauge', 'Current working set in bytes.'],
  container_memory_total_active_file_bytes: ['gauge', 'Current total active file in bytes.'],
  container_memory_total_inactive_file_bytes: ['gauge', 'Current total inactive file in bytes.'],
  container_memory_failures_total: ['counter', 'Cumulative count of memory allocation failures.'],
  container_oom_events_total: ['counter', 'Count of out of memory events observed for the container'],
  container_blkio_device_usage_total: ['counter', 'Blkio Device bytes usage'],
  container_fs_reads_bytes_total: ['counter', 'Cumulative count of bytes read'],
  container_fs_reads_total: ['counter', 'Cumulative count of reads completed'],
  container_fs_writes_bytes_total: ['counter', 'Cumulative count of bytes written'],
  container_fs_writes_total: ['counter', 'Cumulative count of writes completed'],
  container_fs_inodes_free: ['gauge', 'Number of available Inodes'],
  container_fs_inodes_total: ['gauge', 'Number of Inodes'],
  container_fs_limit_bytes: [
    'gauge',
    'Number of bytes that can be consumed by the container on this filesystem.',
  ],
  container_fs_usage_bytes: [
    'gauge',
    'Number of bytes that are consumed by the container on this filesystem.',
  ],
  container_fs_reads_merged_total: ['counter', 'Cumulative count of reads merged'],
  container_fs_sector_reads_total: ['counter', 'Cumulative count of sector reads completed'],
  container_fs_read_seconds_total: ['counter', 'Cumulative count of seconds spent reading'],
  container_fs_writes_merged_total: ['counter', 'Cumulative count of writes merged'],
  container_fs_sector_writes_total: ['counter', 'Cumulative count of sector writes completed'],
  container_fs_write_seconds_total: ['counter', 'Cumulative count of seconds spent writing'],
  container_fs_io_current: ['gauge', 'Number of I/Os currently in progress'],
  container_fs_io_time_seconds_total: ['counter', 'Cumulative count of seconds spent doing I/Os'],
  container_fs_io_time_weighted_seconds_total: ['counter', 'Cumulative weighted I/O time in seconds'],
  container_network_receive_bytes_total: ['counter', 'Cumulative count of bytes received'],
  container_network_receive_packets_total: ['counter', 'Cumulative count of packets received'],
  container_network_receive_packets_dropped_total: [
    'counter',
    'Cumulative count of packets dropped while receiving',
  ],
  container_network_receive_errors_total: [
    'counter',
    'Cumulative count of errors encountered while receiving',
  ],
  container_network_transmit_bytes_total: ['counter', 'Cumulative count of bytes transmitted'],
  container_network_transmit_packets_total: ['counter', 'Cumulative count of packets transmitted'],
  container_network_transmit_packets_dropped_total: [
    'counter',
    'Cumulative count of packets dropped while transmitting',
  ],
  container_network_transmit_errors_total: [
    'counter',
    'Cumulative count of errors encountered while transmitting',
  ],
  container_processes: ['gauge', 'Number of processes running inside the container.'],
  container_file_descriptors: ['gauge', 'Number of open file descriptors for the container.'],
  container_sockets: ['gauge', 'Number of open sockets for the container.'],
  container_threads: ['gauge', 'Number of threads running inside the container'],
  container_threads_max: [
    'gauge',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
  ],
  container_ulimits_soft: [
    'gauge',
    'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
  ],
  container_spec_cpu_period: ['gauge', 'CPU period of the container.'],
  container_spec_cpu_quota: ['gauge', 'CPU quota of the container.'],
  container_spec_cpu_shares: ['gauge', 'CPU share of the container.'],
  container_spec_memory_limit_bytes: ['gauge', 'Memory limit for the container.'],
  container_spec_memory_reservation_limit_bytes: ['gauge', 'Memory reservation limit for the container.'],
  container_spec_memory_swap_limit_bytes: ['gauge', 'Memory swap limit for the container.'],
  container_pressure_cpu_waiting_seconds_total: [
    'counter',
    'Total time duration tasks in the container have waited due to CPU congestion.',
  ],
  container_pressure_cpu_stalled_seconds_total: [
    'counter',
    'Total time duration no tasks in the container could make progress due to CPU congestion.',
  ],
  container_pressure_memory_waiting_seconds_total: [
    'counter',
    'Total time duration tasks in the container have waited due to memory congestion.',
  ],
  container_pressure_memory_stalled_seconds_total: [
    'counter',
    'Total time duration no tasks in the container could make progress due to memory congestion.',
  ],
  container_pressure_io_waiting_seconds_total: [
    'counter',
    'Total time duration tasks in the container have waited due to IO congestion.',
  ],
  container_pressure_io_stalled_seconds_total: [
    'counter',
    'Total time duration no tasks in the container could make progress due to IO congestion.',
  ],
} as const;

export type CgroupFamily = keyof typeof families;

/** One value of a cgroup, with cAdvisor's metric name and unit. */
export interface CgroupSeries {
  readonly family: CgroupFamily;
  readonly value: number;
  /** Labels in addition to the cgroup's. */
  readonly labels?: Labels;
}

/** Labels of a cgroup; empty where it belongs to no container or pod. */
export interface CgroupLabels {
  /** Path of the cgroup; `/` for the whole machine. */
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
}

/** Values of one cgroup. */
export interface CgroupReading {
  readonly labels: CgroupLabels;
  /** ms since the epoch */
  readonly at: number;
  readonly series: readonly CgroupSeries[];
}

/** Returns the metric families of the readings. Follows cAdvisor's `PrometheusCollector` with the metrics that the kubelet enables. */
export function cgroupMetrics(readings: readonly CgroupReading[]): readonly MetricFamily[] {
  const samples = new Map<CgroupFamily, Sample[]>();
  for (const {
    labels: { id, name, image, container, pod, namespace },
    at,
    series,
  } of readings)
    for (const { family, value, labels } of series) {
      const list = samples.get(family) ?? [];
      list.push({ labels: { container, ...labels, id, image, name, namespace, pod }, value, at });
      samples.set(family, list);
    }
  return [...samples].map(([name, list]) => {
    const [type, help] = families[name];
    return { name, type, help, samples: list };
  });
}
