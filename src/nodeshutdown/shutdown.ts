import { systemCriticalPriority } from '../kube/priority.ts';
import type { Pod } from '../kube/types.ts';

/** Time that pods from a priority on have to end when the node shuts down. */
export interface ShutdownWindow {
  readonly priority: number;
  readonly graceSeconds: number;
}

/** Pods that end together, and their window. */
export interface ShutdownGroup extends ShutdownWindow {
  readonly pods: readonly Pod[];
}

/**
 * Returns the windows for `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods` (ms): ordinary pods first, critical ones in the
 * rest, each in whole seconds. Empty when nothing is configured, or the critical part is negative or longer than the whole. Follows kubelet
 * `nodeshutdown.migrateConfig`.
 */
export function shutdownWindows(totalMs: number, criticalMs: number): readonly ShutdownWindow[] {
  if (totalMs === 0 || criticalMs < 0 || totalMs < criticalMs) return [];
  const seconds = (ms: number): number => Math.trunc(ms / 1000);
  return [
    { priority: 0, graceSeconds: seconds(totalMs - criticalMs) },
    { priority: systemCriticalPriority, graceSeconds: seconds(criticalMs) },
  ];
}

/**
 * Groups pods by window (R251): each in the highest window that is not above its priority, the first one of several with equal priority;
 * pods below all windows in the lowest.
 * Groups are in ascending priority, the order in which they end. Follows kubelet `nodeshutdown.groupByPriority`.
 */
export function groupByPriority(
  windows: readonly ShutdownWindow[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const sorted = windows.toSorted((a, b) => a.priority - b.priority);
  const groupOf = ({ spec }: Pod): number => {
    const own = spec?.priority ?? 0;
    const exact = sorted.findIndex(({ priority }) => priority === own);
    return exact >= 0
      ? exact
      : Math.max(
          0,
          sorted.findLastIndex(({ priority }) => priority < own),
        );
  };
  return sorted.map((window, index) => ({ ...window, pods: pods.filter((pod) => groupOf(pod) === index) }));
}
