import { isCriticalPod } from '../kube/priority.ts';
import { qosClassOf } from '../kube/resources/resources.ts';
import { tolerates } from '../kube/taints.ts';
import type { Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/**
 * Admission while the node is under pressure (R130): critical pods pass; with memory pressure alone only best-effort pods that do not
 * tolerate it are refused; any other pressure refuses all.
 *
 * Follows kubelet `eviction.managerImpl.Admit`.
 *
 * @param conditions the pressures in force, in the order that the message shows
 */
export function admitUnderPressure(pod: Pod, conditions: readonly string[]): AdmitResult {
  if (conditions.length === 0 || isCriticalPod(pod)) return admitted;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (qosClassOf(pod) !== 'BestEffort') return admitted;
    if (pod.spec?.tolerations?.some((toleration) => tolerates(toleration, memoryPressureTaint)))
      return admitted;
  }
  return refused('Evicted', `The node had condition: [${conditions.join(' ')}]. `);
}
