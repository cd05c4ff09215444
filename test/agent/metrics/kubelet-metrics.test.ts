import { expect, test } from 'vitest';
import { kubeletMetrics } from '../../../src/agent/metrics/kubelet-metrics.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { PodWorkerSync } from '../../../src/podworkers/queries.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';

const podOf = (uid: string, source: string): Pod => ({
  metadata: { uid, name: uid, annotations: { 'kubernetes.io/config.source': source } },
});

test('pods are counted by what is wanted of them and what is done with them', () => {
  const api = podOf('api', 'api');
  const ended = podOf('ended', 'api');
  const fixed = podOf('fixed', 'file');
  const at = (state: PodWorkerSync['state'], more: Partial<PodWorkerSync> = {}): PodWorkerSync => ({
    state,
    orphan: false,
    hasConfig: true,
    static: false,
    ...more,
  });
  const wanted: string[][] = [];
  const text = metricsText(
    kubeletMetrics(
      {
        pleg: { listed: [], channel: { dropped: 0 } },
        podManager: { getPodsAndMirrorPods: () => ({ pods: [api, ended, fixed], mirrors: [api] }) },
        podWorkers: {
          working: (desired) => {
            wanted.push([...desired]);
            return [
              at('sync'),
              at('sync', { static: true }),
              at('terminated'),
              at('terminating', { orphan: true, static: true }),
              at('terminating', { orphan: true, hasConfig: false }),
            ];
          },
        },
        statusManager: {
          resizes: { tally: () => ({ pending: new Map([['Deferred', 2]]), inProgress: 1 }) },
        },
        syncHandler: { isActive: (pod) => pod !== ended },
      },
      'a',
    ),
  );
  expect(text).toContain('kubelet_pod_pending_resizes{reason="deferred"} 2\n');
  expect(text).toContain('kubelet_pod_in_progress_resizes 1\n');
  const lines = text.split('\n').filter((line) => /^kubelet_(active|desired|mirror|working)/.test(line));
  expect(wanted).toEqual([['api', 'ended', 'fixed']]);
  expect(lines.filter((line) => !line.endsWith(' 0'))).toEqual([
    'kubelet_active_pods{static="true"} 1',
    'kubelet_active_pods{static=""} 1',
    'kubelet_desired_pods{static="true"} 1',
    'kubelet_desired_pods{static=""} 2',
    'kubelet_mirror_pods 1',
    'kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1',
    'kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1',
    'kubelet_working_pods{config="orphan",lifecycle="terminating",static="true"} 1',
    'kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 1',
    'kubelet_working_pods{config="desired",lifecycle="terminated",static=""} 1',
  ]);
  expect(lines.filter((line) => line.startsWith('kubelet_working_pods'))).toHaveLength(15);
});
