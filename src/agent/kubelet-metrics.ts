import { isStaticPod } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';
import { type MetricFamily, single } from '../server/metrics.ts';
import { runningOnly } from '../server/pod-lists.ts';

interface MetricSources {
  readonly provider: PodProvider;
  readonly nodeName: string;
  readonly podManager: { getPods(): readonly Pod[] };
}

/** The agent's metrics under the kubelet's names, where the meaning is the same. */
export async function kubeletMetrics({
  provider,
  nodeName,
  podManager,
}: MetricSources): Promise<readonly MetricFamily[]> {
  const listed = await provider.listPods();
  const states = new Map<string, number>();
  for (const { state } of listed.flatMap(({ containers }) => containers))
    states.set(state, (states.get(state) ?? 0) + 1);
  return [
    {
      name: 'kubelet_node_name',
      type: 'gauge',
      help: "The node's name. The count is always 1.",
      samples: [{ labels: { node: nodeName }, value: 1 }],
    },
    single(
      'kubelet_running_pods',
      'gauge',
      'Number of pods that have something running',
      runningOnly(listed).length,
    ),
    {
      name: 'kubelet_running_containers',
      type: 'gauge',
      help: 'Number of containers by state',
      samples: [...states].map(([container_state, value]) => ({ labels: { container_state }, value })),
    },
    {
      name: 'kubelet_desired_pods',
      type: 'gauge',
      help: 'Number of pods that are bound to the node; static ones apart',
      samples: [true, false].map((kind) => ({
        labels: { static: kind ? 'true' : '' },
        value: podManager.getPods().filter((pod) => isStaticPod(pod) === kind).length,
      })),
    },
    ...processMetrics(),
  ];
}

/** What every Prometheus client tells of its process. */
function processMetrics(): readonly MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return [
    single(
      'process_cpu_seconds_total',
      'counter',
      'Total user and system CPU time spent in seconds.',
      (user + system) / 1e6,
    ),
    single('process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes.', rss),
    single('nodejs_heap_size_used_bytes', 'gauge', 'Process heap size used from Node.js in bytes.', heapUsed),
  ];
}
