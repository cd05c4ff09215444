import { isMirrorPod, isStaticPod } from './names.ts';
import type { Pod } from './types.ts';

/** The priority from which a pod is critical to the system. */
export const systemCriticalPriority = 2_000_000_000;

/** The priority class of pods that the node cannot do without. */
export const systemNodeCritical = 'system-node-critical';

/** Static and mirror pods, and those of system priority: admitted by preemption, evicted last (kubelet `types.IsCriticalPod`). */
export const isCriticalPod = (pod: Pod): boolean =>
  isStaticPod(pod) ||
  isMirrorPod(pod) ||
  (pod.spec?.priority !== undefined && pod.spec.priority >= systemCriticalPriority);

/** Critical, and of the node's own class (kubelet `types.IsNodeCriticalPod`). */
export const isNodeCriticalPod = (pod: Pod): boolean =>
  isCriticalPod(pod) && pod.spec?.priorityClassName === systemNodeCritical;
