import { isStaticPod, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { PodWorkerSync } from '../../podworkers/queries.ts';
import type { RuntimePod } from '../../provider/runtime-pod.ts';
import { single } from '../../metrics/metrics.ts';
import { processFamilies } from '../../metrics/process.ts';
import { runningOnly } from '../../server/pod-lists.ts';
import type { ResizeStatuses } from '../../status/resize-statuses.ts';
import type { MetricFamily, Sample } from '../../metrics/family.ts';

/** The sources of {@link kubeletMetrics}. */
export interface MetricSources {
  readonly pleg: { readonly listed: readonly RuntimePod[]; readonly channel: { readonly dropped: number } };
  readonly podManager: {
    getPodsAndMirrorPods(): { readonly pods: readonly Pod[]; readonly mirrors: readonly Pod[] };
  };
  readonly podWorkers: { working(desired: ReadonlySet<string>): readonly PodWorkerSync[] };
  readonly syncHandler: { isActive(pod: Pod): boolean };
  readonly statusManager: { readonly resizes?: Pick<ResizeStatuses, 'tally'> };
}

/** The agent's metrics, with the kubelet's names where the meaning is the same. Makes no call to the runtime, which may not respond. */
export function kubeletMetrics(sources: MetricSources, nodeName: string): readonly MetricFamily[] {
  const { listed } = sources.pleg;
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
      'Number of pods that have a running pod sandbox',
      runningOnly(listed).length,
    ),
    {
      name: 'kubelet_running_containers',
      type: 'gauge',
      help: 'Number of containers currently by state',
      samples: [...states].map(([container_state, value]) => ({ labels: { container_state }, value })),
    },
    single(
      'kubelet_pleg_discard_events',
      'counter',
      'Number of pod lifecycle events that were dropped because the channel was full.',
      sources.pleg.channel.dropped,
    ),
    ...podCounts(sources),
    ...resizeCounts(sources),
    ...processFamilies(),
  ];
}

/** The numbers of desired pods, active pods, mirror pods and working pods. Follows the counts of kubelet `HandlePodCleanups`. */
function podCounts({ podManager, podWorkers, syncHandler }: MetricSources): readonly MetricFamily[] {
  const { pods, mirrors } = podManager.getPodsAndMirrorPods();
  return [
    {
      name: 'kubelet_desired_pods',
      type: 'gauge',
      help: 'Number of pods bound to the node, static pods separately',
      samples: byKind(pods),
    },
    {
      name: 'kubelet_active_pods',
      type: 'gauge',
      help: 'Number of pods considered active at admission, static pods separately',
      samples: byKind(pods.filter((pod) => syncHandler.isActive(pod))),
    },
    single('kubelet_mirror_pods', 'gauge', 'Number of mirror pods', mirrors.length),
    single(
      'kubelet_managed_ephemeral_containers',
      'gauge',
      'Number of ephemeral containers in the pods bound to the node',
      pods.reduce((sum, { spec }) => sum + (spec?.ephemeralContainers?.length ?? 0), 0),
    ),
    {
      name: 'kubelet_working_pods',
      type: 'gauge',
      help: 'Number of pods with a worker by lifecycle stage, by whether they are desired or orphaned, static pods separately',
      samples: workSamples(podWorkers.working(new Set(pods.map(uidOf)))),
    },
  ];
}

/** The result of the last clean-up of orphaned pod directories. */
export const sweepMetrics = (sweep: {
  readonly pods: number;
  readonly failed: number;
}): readonly MetricFamily[] => [
  single(
    'kubelet_orphan_pod_cleaned_volumes',
    'gauge',
    'Number of orphaned pods whose volumes the last clean-up found',
    sweep.pods,
  ),
  single(
    'kubelet_orphan_pod_cleaned_volumes_errors',
    'gauge',
    'Number of orphaned pods whose volumes the last clean-up could not remove',
    sweep.failed,
  ),
];

/** The numbers of pending resizes and of resizes in progress. */
function resizeCounts({ statusManager }: MetricSources): readonly MetricFamily[] {
  const tally = statusManager.resizes?.tally();
  if (!tally) return [];
  return [
    {
      name: 'kubelet_pod_pending_resizes',
      type: 'gauge',
      help: 'Number of pods with a pending resize by reason',
      samples: [...tally.pending].map(([reason, value]) => ({
        labels: { reason: reason.toLowerCase() },
        value,
      })),
    },
    single(
      'kubelet_pod_in_progress_resizes',
      'gauge',
      'Number of pods with a resize in progress',
      tally.inProgress,
    ),
  ];
}

const byKind = (pods: readonly Pod[]): readonly Sample[] =>
  [true, false].map((kind) => ({
    labels: { static: kind ? 'true' : '' },
    value: pods.filter((pod) => isStaticPod(pod) === kind).length,
  }));

/** One series for each possible kind, also for kinds without a pod. */
function workSamples(working: readonly PodWorkerSync[]): readonly Sample[] {
  const kinds = ['sync', 'terminating', 'terminated'].flatMap((lifecycle) => [
    ...['desired', 'orphan'].flatMap((config) => ['', 'true'].map((kind) => [lifecycle, config, kind])),
    [lifecycle, 'runtime_only', 'unknown'],
  ]);
  const counts = new Map(kinds.map((kind) => [kind.join(), 0]));
  for (const one of working) {
    const kind = kindOf(one).join();
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return kinds.map((kind) => {
    const [lifecycle = '', config = '', pods = ''] = kind;
    return { labels: { config, lifecycle, static: pods }, value: counts.get(kind.join()) ?? 0 };
  });
}

const kindOf = ({ state, orphan, hasConfig, static: isStatic }: PodWorkerSync): readonly string[] =>
  hasConfig
    ? [state, orphan ? 'orphan' : 'desired', isStatic ? 'true' : '']
    : [state, 'runtime_only', 'unknown'];
