import { systemCriticalPriority } from '../kube/priority.ts';
import type { Pod } from '../kube/types.ts';

/** How long pods from a priority on may take to end when the node shuts down. */
export interface ShutdownWindow {
  readonly priority: number;
  readonly graceSeconds: number;
}

/** Pods that end together, and their window. */
export interface ShutdownGroup extends ShutdownWindow {
  readonly pods: readonly Pod[];
}

/**
 * The windows that `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods` stand for: ordinary pods first, critical ones in the rest.
 * None when nothing was asked for or the critical part is longer than the whole. Follows kubelet `nodeshutdown.migrateConfig`.
 */
export function shutdownWindows(totalSeconds: number, criticalSeconds: number): readonly ShutdownWindow[] {
  if (totalSeconds === 0 || totalSeconds < criticalSeconds) return [];
  return [
    { priority: 0, graceSeconds: totalSeconds - criticalSeconds },
    { priority: systemCriticalPriority, graceSeconds: criticalSeconds },
  ];
}

/**
 * Which pods end in which window (R251): each in the highest one that is not above its priority; what lies below all, in the lowest.
 * Groups come in ascending priority, the order in which they end. Follows kubelet `nodeshutdown.groupByPriority`.
 */
export function groupByPriority(
  windows: readonly ShutdownWindow[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const sorted = windows.toSorted((a, b) => a.priority - b.priority);
  const groupOf = (pod: Pod): number =>
    Math.max(
      0,
      sorted.findLastIndex(({ priority }) => priority <= (pod.spec?.priority ?? 0)),
    );
  return sorted.map((window, index) => ({ ...window, pods: pods.filter((pod) => groupOf(pod) === index) }));
}
