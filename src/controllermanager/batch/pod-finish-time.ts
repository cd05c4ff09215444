import { createdMs } from '../workload/objects.ts';
import type { Pod } from '../workload/types.ts';

/**
 * Returns when a pod has ended, ms (`getFinishedTime`): when its last container did; else since when it is not ready; else when its deletion
 * began; else when it was created.
 */
export function finishedAt(pod: Pod): number {
  return ofContainers(pod) ?? ofReadiness(pod) ?? ofDeletion(pod) ?? createdMs(pod);
}

function ofContainers({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(
    (spec?.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  const statuses = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ];
  const times = statuses.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return times.length === 0 || times.some(Number.isNaN) ? undefined : Math.max(...times);
}

function ofReadiness({ status }: Pod): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'False' && ready.lastTransitionTime !== undefined
    ? Date.parse(ready.lastTransitionTime)
    : undefined;
}

const ofDeletion = ({ metadata }: Pod): number | undefined =>
  metadata?.deletionTimestamp === undefined
    ? undefined
    : Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
