import { isMirrorPod, isStaticPod } from './names.ts';
import type { Pod } from './types.ts';

/** Lowest priority of system-critical pods. */
export const systemCriticalPriority = 2_000_000_000;

/** Priority class of pods that are critical to their node. */
export const systemNodeCritical = 'system-node-critical';

/** True for static and mirror pods and those with system priority: admitted by preemption, evicted last (kubelet `types.IsCriticalPod`). */
export const isCriticalPod = (pod: Pod): boolean =>
  isStaticPod(pod) ||
  isMirrorPod(pod) ||
  (pod.spec?.priority !== undefined && pod.spec.priority >= systemCriticalPriority);

/** True for critical pods of the class `system-node-critical` (kubelet `types.IsNodeCriticalPod`). */
export const isNodeCriticalPod = (pod: Pod): boolean =>
  isCriticalPod(pod) && pod.spec?.priorityClassName === systemNodeCritical;
