import { expect, test } from 'vitest';
import { PodStarts } from '../../../src/pods/metrics/pod-starts.ts';
import { StartMetrics } from '../../../src/agent/metrics/start-metrics.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { Container, Pod } from '../../../src/kube/types.ts';
import { ImageGc } from '../../../src/containers/images/image-gc.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';
import { kubeRuntimeOver } from '../../support/kube-runtime.ts';
import { MemoryRuntime } from '../../support/memory-runtime.ts';

test('what is started is counted under the names of the kubelet, from 0 on where somebody counts', () => {
  const starts = new StartMetrics();
  const text = (): readonly string[] =>
    metricsText(starts.collect())
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
  expect(text()).toEqual([]);
  const counts = starts.counts();
  const none = [
    ...['mounted_errors', 'mounted_succeed', 'requested'].map((name) => `image_volume_${name}`),
    'lifecycle_handler_http_fallbacks',
    'sleep_action_terminated_early',
    ...['pods_errors', 'pods', 'user_namespaced_pods_errors', 'user_namespaced_pods'].map(
      (name) => `started_${name}`,
    ),
  ];
  expect(text()).toEqual(none.map((name) => `kubelet_${name}_total 0`));
  const plain = { spec: { containers: [] } };
  const namespaced = { spec: { containers: [], hostUsers: false } };
  counts.pod(plain);
  counts.pod(namespaced);
  counts.podFailed(namespaced);
  counts.container('init_container');
  counts.containerFailed('init_container', 'ErrImagePull', plain);
  counts.containerFailed('container', 'RunContainerError', namespaced);
  expect(text().filter((line) => line.startsWith('kubelet_started'))).toEqual([
    'kubelet_started_containers_errors_total{code="ErrImagePull",container_type="init_container"} 1',
    'kubelet_started_containers_errors_total{code="RunContainerError",container_type="container"} 1',
    'kubelet_started_containers_total{container_type="init_container"} 1',
    'kubelet_started_pods_errors_total 1',
    'kubelet_started_pods_total 2',
    'kubelet_started_user_namespaced_pods_errors_total 2',
    'kubelet_started_user_namespaced_pods_total 1',
  ]);
});

const lines = (metrics: StartMetrics, what: RegExp): readonly string[] =>
  metricsText(metrics.collect())
    .split('\n')
    .filter((line) => !line.startsWith('#') && what.test(line));

test.for([
  [0, 'N/A'],
  [1, '0-10MB'],
  [10 * 2 ** 20, '0-10MB'],
  [10 * 2 ** 20 + 1, '10MB-100MB'],
  [700 * 2 ** 20, '500MB-1GB'],
  [2 ** 40, 'GT100GB'],
] as const)('a pull of %d bytes counts as %s', ([bytes, size]) => {
  const metrics = new StartMetrics();
  metrics.pulled('u', 2500, bytes);
  expect(lines(metrics, /pull_duration_seconds_sum/)).toEqual([
    `kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="${size}"} 2.5`,
  ]);
});

const main: Container = { name: 'main', image: 'busybox', imagePullPolicy: 'Always' };
const podWith = (more: Partial<NonNullable<Pod['spec']>>): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { containers: [main], ...more },
});

/** A runtime whose starts are counted, and whose pulls take 4 s. */
function bed() {
  const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  const runtime = new MemoryRuntime(() => clock.now() * 1e6);
  const starts = new PodStarts(clock);
  const metrics = new StartMetrics(() => starts);
  const pull = runtime.pullImage.bind(runtime);
  runtime.pullImage = async (request) => {
    await clock.advance(4000);
    return pull(request);
  };
  const { provider } = kubeRuntimeOver(runtime, clock, { counts: metrics.counts() });
  const sync = async (pod: Pod): Promise<void> => {
    const observed = await provider.getPodStatus({ uid: 'u', name: 'web', namespace: 'ns' });
    await provider.syncPod(
      { pod, observed, pullSecrets: [], restartAllContainers: false },
      new AbortController().signal,
    );
  };
  return { clock, runtime, starts, metrics, sync };
}

test('pulls are measured, and the start of a pod is without them', async () => {
  const { clock, starts, metrics, sync } = bed();
  const pod = podWith({});
  starts.observed(pod);
  await sync(pod);
  await clock.advance(1000);
  const state = { running: { startedAt: '2026-01-01T00:00:04Z' } };
  const started = { ...pod, status: { phase: 'Running', containerStatuses: [{ name: 'main', state }] } };
  starts.statusSent(started as unknown as Pod);
  starts.observed(started as unknown as Pod);
  const text = metricsText(starts.collect());
  expect(text).toContain('kubelet_pod_start_total_duration_seconds_sum 5\n');
  expect(text).toContain('kubelet_pod_start_sli_duration_seconds_sum 1\n');
  expect(lines(metrics, /pull_duration_seconds_(sum|count)/)).toEqual([
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="N/A"} 4',
    'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="N/A"} 1',
  ]);
});

test.for([
  { says: 'is made', failure: undefined, counts: { mounted_errors: 0, mounted_succeed: 2, requested: 1 } },
  {
    says: 'fails',
    failure: 'ImageVolumeMountFailed: no such layer',
    counts: { mounted_errors: 2, mounted_succeed: 0, requested: 1 },
  },
])('an image volume whose mount $says is counted', async ({ failure, counts }) => {
  const { runtime, metrics, sync } = bed();
  if (failure !== undefined) runtime.failures.set('CreateContainer', failure);
  const volumeMounts = ['/a', '/b'].map((mountPath) => ({ name: 'data', mountPath }));
  const volumes = [{ name: 'data', image: { reference: 'data:1' } }];
  await sync(podWith({ containers: [{ ...main, volumeMounts }], volumes }));
  expect(lines(metrics, /image_volume/)).toEqual(
    Object.entries(counts).map(([name, count]) => `kubelet_image_volume_${name}_total ${count}`),
  );
});

test('images that are removed are counted by why they went', async () => {
  const metrics = new StartMetrics();
  const clock = new FakeClock(0);
  const gc = new ImageGc(
    {
      images: {
        listImages: async () => ({
          images: [
            { id: 'old', size: 1 },
            { id: 'other', size: 1 },
          ],
        }),
        removeImage: async () => ({}),
      },
      imagesInUse: async () => new Set(clock.now() > 5000 ? [] : ['other']),
      imageFs: async () => ({ capacity: 100, available: 90 }),
      warn: () => undefined,
      clock,
      logger: silentLogger,
      removed: metrics.imageRemoved,
    },
    { minAgeMs: 0, maxAgeMs: 1000, highThresholdPercent: 85, lowThresholdPercent: 80 },
  );
  await gc.detectImages();
  await clock.advance(2000);
  await gc.collect();
  await clock.advance(4000);
  await gc.deleteUnusedImages();
  expect(lines(metrics, /garbage/)).toEqual([
    'kubelet_image_garbage_collected_total{reason="age"} 1',
    'kubelet_image_garbage_collected_total{reason="space"} 2',
  ]);
});

test('resizes are measured by whether they succeeded, in whole milliseconds', () => {
  const metrics = new StartMetrics();
  metrics.resized(12.7, true);
  metrics.resized(1000, false);
  expect(lines(metrics, /resize_duration_milliseconds_sum/)).toEqual([
    'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 12',
    'kubelet_pod_resize_duration_milliseconds_sum{success="false"} 1000',
  ]);
});
