import { tableOf } from '../../base/own.ts';
import type { StateMachines } from './machines.ts';
import type { Replay } from './recording.ts';

/** One family of recordings. */
export interface Family {
  /** The rules of the lifecycle that its cases are about. */
  readonly rule: string;
  /** The machine that it judges; absent: functions, which only podtender or a protocol subject has. */
  readonly machine?: keyof StateMachines;
  readonly load: () => Promise<{ readonly replay: Replay }>;
}

/** The families by the name in their header. */
export const families: Readonly<Partial<Record<string, Family>>> = tableOf({
  active_deadline_vectors: { rule: 'R207', load: () => import('./families/active-deadline-vectors.ts') },
  backoff: { rule: 'R179', machine: 'backOff', load: () => import('./families/backoff.ts') },
  config_mux: { rule: 'R1…R15', machine: 'podConfig', load: () => import('./families/config-mux.ts') },
  file_source: { rule: 'R19…R23', load: () => import('./families/file-source.ts') },
  http_source: { rule: 'R24', load: () => import('./families/http-source.ts') },
  mirror_vectors: { rule: 'R34, R241, R242', load: () => import('./families/mirror-vectors.ts') },
  pleg: { rule: 'R229…R235', machine: 'pleg', load: () => import('./families/pleg.ts') },
  pod_cache: { rule: 'R112, R232', load: () => import('./families/pod-cache.ts') },
  pod_manager: { rule: 'R27…R34', machine: 'podManager', load: () => import('./families/pod-manager.ts') },
  pod_workers: { rule: 'R83…R130', machine: 'podWorkers', load: () => import('./families/pod-workers.ts') },
  pod_workers_vectors: { rule: 'R83…R130', load: () => import('./families/pod-workers-vectors.ts') },
  prober_timeline: { rule: 'R236…R240', load: () => import('./families/prober-timeline.ts') },
  prober_worker: {
    rule: 'R236…R240',
    machine: 'probeWorker',
    load: () => import('./families/prober-worker.ts'),
  },
  static_pod_vectors: { rule: 'R22, R23', load: () => import('./families/static-pod-vectors.ts') },
  status_manager: {
    rule: 'R186…R204',
    machine: 'statusManager',
    load: () => import('./families/status-manager.ts'),
  },
  status_patch_vectors: { rule: 'R191', load: () => import('./families/status-patch-vectors.ts') },
  status_vectors: { rule: 'R188…R219', load: () => import('./families/status-vectors.ts') },
  work_queue: { rule: 'R45', machine: 'workQueue', load: () => import('./families/work-queue.ts') },
});
