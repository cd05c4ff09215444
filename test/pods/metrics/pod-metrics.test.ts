import { expect, test } from 'vitest';
import { PodMetrics, requestedResizes } from '../../../src/pods/metrics/pod-metrics.ts';
import { PodStarts } from '../../../src/pods/metrics/pod-starts.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Container, Pod, PodSpec, PodStatus } from '../../../src/kube/types.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';
import { newEnds } from '../../../src/status/container-ends.ts';
import type { MetricFamily } from '../../../src/metrics/family.ts';

const createdAt = Date.parse('2026-01-01T00:00:00Z');
const spec: PodSpec = { containers: [{ name: 'c' }] };
const podOf = (status: PodStatus, more: Partial<PodSpec> = {}): Pod => ({
  metadata: { uid: 'u', name: 'p', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { ...spec, ...more },
  status,
});
const running: PodStatus = {
  phase: 'Running',
  startTime: '2026-01-01T00:00:01Z',
  containerStatuses: [{ name: 'c', state: { running: { startedAt: '2026-01-01T00:00:09Z' } } }],
} as unknown as PodStatus;
const lines = (metrics: { collect(): readonly MetricFamily[] }, what: RegExp): readonly string[] =>
  metricsText(metrics.collect())
    .split('\n')
    .filter((line) => !line.startsWith('#') && what.test(line));
const sums = /(_sum|first_network\S*) /;

test('a start is measured from the creation to the sight of it, and without pulls and init containers', async () => {
  const clock = new FakeClock(createdAt + 1000);
  const starts = new PodStarts(clock);
  starts.observed(podOf({ phase: 'Pending' }));
  starts.pullBegan('u');
  await clock.advance(1000);
  starts.pullBegan('u');
  await clock.advance(1000);
  starts.pullEnded('u');
  await clock.advance(1000);
  starts.pullEnded('u'); // of 4 s of pulls 1 s were at the same time
  starts.initBegan('u');
  await clock.advance(2000);
  starts.initEnded('u', clock.now());
  starts.initEnded('u', clock.now());
  starts.statusSent(podOf(running));
  await clock.advance(4000);
  starts.observed(podOf(running));
  starts.observed(podOf(running));
  expect(lines(starts, sums)).toEqual([
    'kubelet_first_network_pod_start_sli_duration_seconds 5',
    'kubelet_pod_start_sli_duration_seconds_sum 5',
    'kubelet_pod_start_total_duration_seconds_sum 10',
  ]);
  expect(lines(starts, /total_duration_seconds_bucket\{le="(8|10)"/)).toEqual([
    'kubelet_pod_start_total_duration_seconds_bucket{le="8"} 0',
    'kubelet_pod_start_total_duration_seconds_bucket{le="10"} 1',
  ]);
});

test('the sight of a start may come before the answer that tells of it', async () => {
  const clock = new FakeClock(createdAt);
  const starts = new PodStarts(clock);
  starts.observed(podOf({}));
  await clock.advance(3000);
  starts.observed(podOf(running));
  await clock.advance(3000);
  starts.statusSent(podOf(running));
  expect(lines(starts, /total\S*_sum/)).toEqual(['kubelet_pod_start_total_duration_seconds_sum 3']);
});

const unschedulable = { conditions: [{ type: 'PodScheduled', status: 'False' }] } as PodStatus;

test.for([
  { says: 'had started before', first: running },
  { says: 'could not be scheduled at first', first: unschedulable },
  { says: 'could not be scheduled then', first: {}, then: unschedulable },
  { says: 'has ended', first: {}, then: { phase: 'Failed' } },
])('a pod that $says does not count', ({ first, then }) => {
  const starts = new PodStarts(new FakeClock(createdAt));
  starts.observed(podOf(first));
  if (then) starts.observed(podOf(then));
  starts.statusSent(podOf(running));
  starts.observed(podOf(running));
  expect(lines(starts, /_count/)).toEqual([]);
});

test.for([
  { says: 'with state', more: { volumes: [{ name: 'v', hostPath: { path: '/v' } }] }, counts: ['total'] },
  { says: 'without', more: { volumes: [{ name: 'v', emptyDir: {} }] }, counts: ['sli', 'total'] },
  { says: "in the host's network", more: { hostNetwork: true }, counts: ['sli', 'total'] },
])('a pod $says counts for $counts', async ({ more, counts }) => {
  const clock = new FakeClock(createdAt);
  const starts = new PodStarts(clock);
  starts.observed(podOf({}, more));
  await clock.advance(2000);
  starts.statusSent(podOf(running, more));
  starts.observed(podOf(running, more));
  const counted = lines(starts, /_count/).map((line) => /start_(\w+)_duration/.exec(line)?.[1]);
  expect(counted).toEqual(counts);
  const first = counts.length === 2 && !('hostNetwork' in more) ? 2 : 0;
  expect(lines(starts, /first_network/)).toEqual([
    `kubelet_first_network_pod_start_sli_duration_seconds ${first}`,
  ]);
});

const statusOf = (...states: readonly (readonly [name: string, exitCode?: number])[]): PodStatus =>
  ({
    containerStatuses: states.map(([name, exitCode]) => ({
      name,
      state: exitCode === undefined ? { running: {} } : { terminated: { exitCode, reason: 'Error' } },
    })),
  }) as unknown as PodStatus;

test('a container has ended once, whatever is told of it afterwards', () => {
  expect(newEnds(statusOf(['a'], ['b', 1]), statusOf(['a', 139], ['b', 1], ['c', 2]))).toEqual([
    { type: 'container', exitCode: 139, reason: 'Error' },
    { type: 'container', exitCode: 2, reason: 'Error' },
  ]);
  const init = { initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 0 } } }] };
  expect(newEnds({}, init as unknown as PodStatus)).toEqual([
    { type: 'init_container', exitCode: 0, reason: '' },
  ]);
});

test('what becomes of pods is counted under the names of the kubelet', async () => {
  const clock = new FakeClock(createdAt);
  const metrics = new PodMetrics(clock);
  metrics.containerEnded({ type: 'container', exitCode: 139, reason: 'Error' });
  for (const reason of ['OutOfcpu', 'OutOfexample.com/gpu', 'Whatever', 'NodeShutdown'])
    metrics.rejected(reason);
  metrics.preempted('cpu');
  metrics.restarted(podOf({}));
  metrics.orphanFound();
  metrics.changeSent(30);
  await clock.advance(1500);
  const seen = { 'kubernetes.io/config.seen': '2026-01-01T00:00:00.500000000Z' };
  metrics.takenUp({ metadata: { annotations: seen }, spec: { containers: [{ name: 'a' }, { name: 'b' }] } });
  metrics.takenUp({});
  expect(lines(metrics, /^(?!.*_bucket)./)).toEqual([
    'kubelet_admission_rejections_total{reason="OutOfcpu"} 1',
    'kubelet_admission_rejections_total{reason="OutOfExtendedResources"} 1',
    'kubelet_admission_rejections_total{reason="Other"} 1',
    'kubelet_admission_rejections_total{reason="NodeShutdown"} 1',
    'kubelet_containers_per_pod_count_sum 2',
    'kubelet_containers_per_pod_count_count 2',
    'kubelet_orphaned_runtime_pods_total 1',
    'kubelet_pod_status_sync_duration_seconds_sum 0.03',
    'kubelet_pod_status_sync_duration_seconds_count 1',
    'kubelet_pod_worker_start_duration_seconds_sum 1',
    'kubelet_pod_worker_start_duration_seconds_count 1',
    'kubelet_preemptions{preemption_signal="cpu"} 1',
    'kubelet_restarted_pods_total{static=""} 1',
    'kubelet_restarted_pods_total{static="true"} 0',
    'kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 1',
  ]);
});

const podWith = (resources: Container['resources'], more: Partial<Container> = {}): Pod => ({
  spec: {
    containers: [{ name: 'c', ...(resources && { resources }) }],
    initContainers: [{ name: 'i', ...more }],
  },
});

test.for([
  { old: { requests: { cpu: '1' } }, next: { requests: { cpu: '1000m' } }, told: [] },
  { old: undefined, next: { limits: { memory: '1Gi' } }, told: ['memory limits add'] },
  {
    old: { requests: { cpu: '1', memory: '1' } },
    next: {},
    told: ['memory requests remove', 'cpu requests remove'],
  },
  { old: { requests: { cpu: '1' } }, next: { requests: { cpu: '2' } }, told: ['cpu requests increase'] },
  { old: { limits: { cpu: '2' } }, next: { limits: { cpu: '1' } }, told: ['cpu limits decrease'] },
  { old: { limits: { 'example.com/gpu': '2' } }, next: { limits: { 'example.com/gpu': '1' } }, told: [] },
])('from $old to $next is $told', ({ old, next, told }) => {
  const found = requestedResizes(podWith(old), podWith(next));
  expect(
    found.map(({ resource, requirement, operation }) => `${resource} ${requirement} ${operation}`),
  ).toEqual(told);
});

test('an init container counts where it goes on beside the others', () => {
  const resources = { requests: { cpu: '1' } };
  expect(requestedResizes(podWith({}), podWith({}, { resources }))).toEqual([]);
  const restartPolicy = 'Always';
  expect(
    requestedResizes(podWith({}, { restartPolicy }), podWith({}, { restartPolicy, resources })),
  ).toHaveLength(1);
});
