import { expect, test } from 'vitest';
import { EngineMetrics, RuntimeCallMetrics } from '../../../src/pods/metrics/agent-metrics.ts';
import { certificateMetrics } from '../../../src/agent/metrics/certificate-metrics.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import type { PodStatus } from '../../../src/kube/types.ts';
import type {
  PodStep,
  PodSyncer,
  SyncPodStep,
  SyncTerminatingPodStep,
} from '../../../src/podworkers/pod-syncer.ts';
import type { ProbeTarget } from '../../../src/prober/probe-step.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';

const pod = { metadata: { name: 'web', namespace: 'ns', uid: 'u1' }, spec: { containers: [] } };
const signal = new AbortController().signal;
const interesting = (text: string, name: string): readonly string[] =>
  text.split('\n').filter((line) => new RegExp(`^${name}(_sum|_count|\\{|_total| )`).test(line));

test("a pod's steps are measured by kind, and its start once", async () => {
  const clock = new FakeClock(1000);
  const metrics = new EngineMetrics(clock);
  let status: PodStatus | undefined;
  const took = (ms: number) => async () => {
    await clock.advance(ms);
  };
  const steps: PodSyncer = {
    syncPod: async () => {
      await clock.advance(2000);
      status = { phase: 'Running' };
      return { terminal: false };
    },
    syncTerminatingPod: took(3000),
    syncTerminatingRuntimePod: took(0),
    syncTerminatedPod: took(100),
  };
  const syncer = metrics.syncer(steps, () => status);
  const order = (updateType: string): SyncPodStep => ({ pod, updateType }) as unknown as SyncPodStep;
  await syncer.syncPod(order('create'), signal);
  await syncer.syncPod(order('sync'), signal);
  await syncer.syncTerminatingPod({ pod } as unknown as SyncTerminatingPodStep, signal);
  await syncer.syncTerminatedPod({ pod } as unknown as PodStep, signal);
  const text = metricsText(metrics.collect());
  expect(interesting(text, 'kubelet_pod_start_duration_seconds')).toEqual([
    'kubelet_pod_start_duration_seconds_sum 2',
    'kubelet_pod_start_duration_seconds_count 1',
  ]);
  expect(interesting(text, 'kubelet_pod_worker_duration_seconds')).toEqual([
    'kubelet_pod_worker_duration_seconds_sum{operation_type="create"} 2',
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
    'kubelet_pod_worker_duration_seconds_sum{operation_type="sync"} 2',
    'kubelet_pod_worker_duration_seconds_count{operation_type="sync"} 1',
    'kubelet_pod_worker_duration_seconds_sum{operation_type="kill"} 3.1',
    'kubelet_pod_worker_duration_seconds_count{operation_type="kill"} 2',
  ]);
});

test('relists are measured, and the time between them', async () => {
  const clock = new FakeClock(10_000);
  const metrics = new EngineMetrics(clock);
  metrics.relisted(500);
  await clock.advance(1000);
  metrics.relisted(250);
  const text = metricsText(metrics.collect());
  expect(interesting(text, 'kubelet_pleg_relist_duration_seconds')[0]).toContain('_sum 0.75');
  expect(interesting(text, 'kubelet_pleg_relist_interval_seconds')[0]).toContain('_sum 1.25');
  expect(interesting(text, 'kubelet_pleg_last_seen_seconds')).toEqual(['kubelet_pleg_last_seen_seconds 10']);
});

test('probes are counted by result until their pod has ended', async () => {
  const clock = new FakeClock();
  const metrics = new EngineMetrics(clock);
  const answers = ['Success', 'Failure', undefined] as const;
  let at = 0;
  const prober = metrics.prober({ probe: () => Promise.resolve(answers[at++]) });
  const target = { pod, type: 'liveness', container: { name: 'c' }, probe: {} } as ProbeTarget;
  for (const answer of answers) expect(await prober.probe(target, {}, 'test://1')).toBe(answer);
  const labels = 'probe_type="Liveness",container="c",pod="web",namespace="ns"';
  expect(interesting(metricsText(metrics.collectProbes()), 'prober_probe')).toEqual([
    `prober_probe_total{${labels},result="successful",pod_uid="u1"} 1`,
    `prober_probe_total{${labels},result="failed",pod_uid="u1"} 1`,
    `prober_probe_total{${labels},result="unknown",pod_uid="u1"} 1`,
  ]);
  const nothing = { syncTerminatedPod: () => Promise.resolve() } as unknown as PodSyncer;
  await metrics.syncer(nothing, () => undefined).syncTerminatedPod({ pod } as unknown as PodStep, signal);
  expect(metricsText(metrics.collectProbes())).toBe('');
});

test('calls to the runtime are counted under the names that the kubelet gives them', async () => {
  class Runtime {
    readonly #secret = 'id';
    runPodSandbox(name: string): Promise<string> {
      return Promise.resolve(`${name}-${this.#secret}`);
    }
    execSync(): Promise<never> {
      return Promise.reject(new Error('no shell'));
    }
    events(): readonly number[] {
      return [1];
    }
  }
  const clock = new FakeClock();
  const calls = new RuntimeCallMetrics(clock);
  const runtime = calls.around(new Runtime());
  expect(await runtime.runPodSandbox('a')).toBe('a-id');
  await expect(runtime.execSync()).rejects.toThrow('no shell');
  expect(runtime.events()).toEqual([1]);
  const text = metricsText(calls.collect());
  expect(interesting(text, 'kubelet_runtime_operations')).toEqual([
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
    'kubelet_runtime_operations_total{operation_type="exec_sync"} 1',
  ]);
  expect(text).toContain('kubelet_runtime_operations_errors_total{operation_type="exec_sync"} 1');
  expect(text).not.toContain('run_podsandbox_errors_total');
  expect(text).toContain('kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1');
  expect(text).toContain('kubelet_runtime_operations_duration_seconds_count{operation_type="exec_sync"} 1');
});

test('sandboxes are measured by the handler of their runtime class, failures too', async () => {
  const clock = new FakeClock();
  const calls = new RuntimeCallMetrics(clock);
  const runPodSandbox = async (_request: { readonly runtimeHandler: string }): Promise<never> => {
    await clock.advance(2000);
    throw new Error('no network');
  };
  const runtime = calls.around({ runPodSandbox });
  await expect(runtime.runPodSandbox({ runtimeHandler: 'kata' })).rejects.toThrow('no network');
  const text = metricsText(calls.collect());
  expect(text).toContain('kubelet_run_podsandbox_duration_seconds_sum{runtime_handler="kata"} 2');
  expect(text).toContain('kubelet_run_podsandbox_errors_total{runtime_handler="kata"} 1');
});

test.for([
  ['server', { notAfter: 61_999 }, 'kubelet_certificate_manager_server_ttl_seconds 60'],
  ['client', { notAfter: -500 }, 'kubelet_certificate_manager_client_ttl_seconds -1'],
  ['client', undefined, 'kubelet_certificate_manager_client_ttl_seconds +Inf'],
] as const)('the life of a %s certificate that ends at %o is told', ([which, certificate, line]) => {
  const text = metricsText(certificateMetrics(which, { certificate, failures: 3 }, 1000));
  expect(text.split('\n')).toContain(line);
  expect(text).toMatch(/renew_errors 3\n/);
});
