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
 * The windows that `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods` (ms) stand for: ordinary pods first, critical ones in the
 * rest, each in whole seconds. None when nothing was asked for, or the critical part is negative or longer than the whole. Follows kubelet `nodeshutdown.migrateConfig`.
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
 * Which pods end in which window (R251): each in the highest one that is not above its priority, in the first one of just its priority;
 * what lies below all, in the lowest.
 * Groups come in ascending priority, the order in which they end. Follows kubelet `nodeshutdown.groupByPriority`.
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
