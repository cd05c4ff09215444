import { expectTypeOf, test } from 'vitest';
import type { CgroupSummary } from '../../src/containers/stats/cgroup-stats.ts';
import type { NodeCgroups } from '../../src/containers/cm/node-cgroups.ts';
import type { HousekeepingDeps } from '../../src/pods/housekeeping.ts';
import type { PodManager } from '../../src/pods/pod-manager.ts';
import type { DesiredPods, WorkerOrders } from '../../src/pods/sync-handler.ts';
import type { PodCgroups } from '../../src/pods/sync-pod.ts';
import type { StatsSummary } from '../../src/kube/stats-summary.ts';
import type { PodCache } from '../../src/pleg/pod-cache.ts';
import type { DueQueue } from '../../src/podworkers/due-queue.ts';
import type { PodWorkers, PodWorkersDeps } from '../../src/podworkers/pod-workers.ts';

test('the parts fit what asks for them', () => {
  expectTypeOf<PodWorkers>().toExtend<WorkerOrders>();
  expectTypeOf<PodWorkers>().toExtend<
    Pick<HousekeepingDeps['workers'], 'syncKnownPods' | 'isPodForMirrorPodTerminatingByFullName'>
  >();
  expectTypeOf<PodManager>().toExtend<DesiredPods>();
  expectTypeOf<PodManager>().toExtend<HousekeepingDeps['pods']>();
  expectTypeOf<PodCache>().toExtend<PodWorkersDeps['cache']>();
  expectTypeOf<NodeCgroups>().toExtend<PodCgroups>();
  expectTypeOf<CgroupSummary>().toExtend<StatsSummary>();
  expectTypeOf<DueQueue>().toExtend<PodWorkersDeps['queue']>();
});
