import type { MetricFamily } from './family.ts';
import { single } from './metrics.ts';

/** Returns the metrics of this process, as Prometheus' clients name them. */
export function processFamilies(): readonly MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  return [
    single(
      'process_cpu_seconds_total',
      'counter',
      'Total user and system CPU time spent in seconds.',
      (user + system) / 1e6,
    ),
    single('process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes.', rss),
    single(
      'process_start_time_seconds',
      'gauge',
      'Start time of the process since unix epoch in seconds.',
      performance.timeOrigin / 1000,
    ),
    single('nodejs_heap_size_used_bytes', 'gauge', 'Process heap size used from Node.js in bytes.', heapUsed),
    single('nodejs_heap_size_total_bytes', 'gauge', 'Process heap size from Node.js in bytes.', heapTotal),
  ];
}
