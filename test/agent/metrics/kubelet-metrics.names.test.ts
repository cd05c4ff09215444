import { expect, test } from 'vitest';
import { EngineMetrics, RuntimeCallMetrics } from '../../../src/pods/metrics/agent-metrics.ts';
import { certificateMetrics } from '../../../src/agent/metrics/certificate-metrics.ts';
import { NodeProtection } from '../../../src/agent/node-protection.ts';
import { kubeletMetrics, sweepMetrics } from '../../../src/agent/metrics/kubelet-metrics.ts';
import { PodResourcesMetrics } from '../../../src/agent/pod-resources-api.ts';
import { StartMetrics } from '../../../src/agent/metrics/start-metrics.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { SyncPodStep } from '../../../src/podworkers/pod-syncer.ts';
import type { MetricFamily } from '../../../src/metrics/family.ts';
import { ServerMetrics } from '../../../src/server/server-metrics.ts';

/** Name, type and labels, as the kubelet 1.36 has them; `*`: there without a series until something happens. */
const wanted = `
active_pods gauge static
admission_rejections_total counter reason
certificate_manager_client_expiration_renew_errors counter
certificate_manager_client_ttl_seconds gauge
certificate_manager_server_ttl_seconds gauge
container_requested_resizes_total counter operation,requirement,resource
containers_per_pod_count histogram
desired_pods gauge static
eviction_stats_age_seconds histogram *
evictions counter *
first_network_pod_start_sli_duration_seconds gauge
graceful_shutdown_end_time_seconds gauge
graceful_shutdown_start_time_seconds gauge
http_inflight_requests gauge long_running,method,path,server_type
http_requests_duration_seconds histogram long_running,method,path,server_type
http_requests_total counter long_running,method,path,server_type
image_garbage_collected_total counter reason
image_pull_duration_seconds histogram image_size_in_bytes
image_volume_mounted_errors_total counter
image_volume_mounted_succeed_total counter
image_volume_requested_total counter
lifecycle_handler_http_fallbacks_total counter
managed_ephemeral_containers gauge
mirror_pods gauge
node_name gauge node
orphan_pod_cleaned_volumes gauge
orphan_pod_cleaned_volumes_errors gauge
orphaned_runtime_pods_total counter
pleg_discard_events counter
pleg_last_seen_seconds gauge
pleg_pod_relist_duration_seconds histogram
pleg_relist_duration_seconds histogram
pleg_relist_interval_seconds histogram
pod_deferred_accepted_resizes_total counter retry_trigger
pod_in_progress_resizes gauge
pod_infeasible_resizes_total counter reason_detail
pod_pending_resizes gauge reason
pod_resize_duration_milliseconds histogram success
pod_resources_endpoint_errors_get counter server_api_version
pod_resources_endpoint_errors_get_allocatable counter server_api_version
pod_resources_endpoint_errors_list counter server_api_version
pod_resources_endpoint_requests_get counter server_api_version
pod_resources_endpoint_requests_get_allocatable counter server_api_version
pod_resources_endpoint_requests_list counter server_api_version
pod_resources_endpoint_requests_total counter server_api_version
pod_start_duration_seconds histogram *
pod_start_sli_duration_seconds histogram
pod_start_total_duration_seconds histogram
pod_status_sync_duration_seconds histogram
pod_worker_duration_seconds histogram operation_type
pod_worker_start_duration_seconds histogram
preemptions counter preemption_signal
restarted_pods_total counter static
run_podsandbox_duration_seconds histogram runtime_handler
run_podsandbox_errors_total counter runtime_handler
running_containers gauge container_state
running_pods gauge
runtime_operations_duration_seconds histogram operation_type
runtime_operations_errors_total counter operation_type
runtime_operations_total counter operation_type
server_expiration_renew_errors counter
sleep_action_terminated_early_total counter
started_containers_errors_total counter code,container_type
started_containers_total counter container_type
started_pods_errors_total counter
started_pods_total counter
started_user_namespaced_pods_errors_total counter
started_user_namespaced_pods_total counter
terminated_containers_total counter container_type,exit_code,reason
working_pods gauge config,lifecycle,static
`;

const labelsOf = ({ samples }: MetricFamily): string => {
  const [first] = samples;
  if (!first) return '*';
  return Object.keys(first.labels ?? {})
    .filter((name) => name !== 'le')
    .sort()
    .join();
};

const pod = {
  metadata: {
    uid: 'u',
    creationTimestamp: '1970-01-01T00:00:00Z',
    annotations: { 'kubernetes.io/config.seen': '1970-01-01T00:00:00Z' },
  },
  spec: { containers: [{ name: 'c', resources: {} }] },
} as unknown as Pod;
const bigger = {
  ...pod,
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
} as Pod;
const state = { running: { startedAt: '1970-01-01T00:00:00Z' } };
const started = { ...pod, status: { containerStatuses: [{ name: 'c', state }] } } as unknown as Pod;

async function engineFamilies(clock: FakeClock): Promise<readonly MetricFamily[]> {
  const metrics = new EngineMetrics(clock);
  metrics.relisted(1);
  metrics.relisted(1);
  metrics.relistedSome(1);
  const step = { syncPod: async () => ({ terminal: false }) } as never;
  const order = { pod, updateType: 'create' } as unknown as SyncPodStep;
  await metrics.syncer(step, () => undefined).syncPod(order, new AbortController().signal);
  metrics.starts.observed(pod);
  metrics.starts.statusSent(started);
  metrics.starts.observed(started);
  const { pods } = metrics;
  pods.containerEnded({ type: 'container', exitCode: 139, reason: 'Error' });
  pods.changeSent(1);
  pods.rejected('OutOfcpu');
  pods.preempted('cpu');
  pods.resizeRequested(pod, bigger);
  pods.infeasible('swap_limitation');
  pods.deferredAccepted('periodic_retry');
  return metrics.collect();
}

async function providerFamilies(clock: FakeClock): Promise<readonly MetricFamily[]> {
  const starts = new StartMetrics();
  const counts = starts.counts();
  counts.container('container');
  counts.containerFailed('container', 'ErrImagePull', pod);
  counts.pulled('u', 1, 1);
  counts.resized(1, true);
  starts.imageRemoved('age');
  const calls = new RuntimeCallMetrics(clock);
  const failing = { runPodSandbox: (_request: object) => Promise.reject(new Error('no')) };
  await expect(calls.around(failing).runPodSandbox({})).rejects.toThrow('no');
  return [...starts.collect(), ...calls.collect()];
}

async function servedFamilies(clock: FakeClock): Promise<readonly MetricFamily[]> {
  const server = new ServerMetrics(clock, 'readwrite');
  await server.around({ method: 'GET', target: '/metrics' } as never, () =>
    Promise.resolve({ status: 200, headers: {}, body: '' }),
  );
  const resources = new PodResourcesMetrics();
  for (const endpoint of ['list', 'get', 'get_allocatable'] as const)
    for (const outcome of ['request', 'error'] as const) resources.count(endpoint, 'v1', outcome);
  const state = { certificate: undefined, failures: 0 };
  const certificates = (['server', 'client'] as const).flatMap((one) => certificateMetrics(one, state, 0));
  const common = { clock: new FakeClock(), logger: silentLogger, recorder: { event: () => undefined } };
  const options = { nodeName: 'n', rootDir: '/' };
  const controller = { engines: undefined as never };
  const protection = new NodeProtection(options, common, { controller, provider: {} });
  return [...server.collect(), ...resources.collect(), ...certificates, ...protection.collect()];
}

const nodeFamilies = (): readonly MetricFamily[] =>
  kubeletMetrics(
    {
      pleg: {
        listed: [{ uid: 'u', name: '', namespace: '', sandboxes: [], containers: [{ state: 'running' }] }],
        channel: { dropped: 0 },
      } as never,
      podManager: { getPodsAndMirrorPods: () => ({ pods: [pod], mirrors: [] }) },
      podWorkers: { working: () => [] },
      syncHandler: { isActive: () => true },
      statusManager: { resizes: { tally: () => ({ pending: new Map([['Deferred', 1]]), inProgress: 0 }) } },
    },
    'n',
  );

test('all families have the names, types and labels of the kubelet', async () => {
  const clock = new FakeClock(0);
  const families = [
    ...nodeFamilies(),
    ...sweepMetrics({ pods: 0, failed: 0 }),
    ...(await engineFamilies(clock)),
    ...(await providerFamilies(clock)),
    ...(await servedFamilies(clock)),
  ];
  const found = families
    .filter(({ name }) => name.startsWith('kubelet_'))
    .map((one) => `${one.name.slice('kubelet_'.length)} ${one.type} ${labelsOf(one)}`.trim());
  expect(found.sort()).toEqual(wanted.trim().split('\n').sort());
});
