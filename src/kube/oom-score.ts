import { isNodeCriticalPod } from './priority.ts';
import { type Quantity, valueOf, zeroQuantity } from './resources/quantity.ts';
import { amountsOf, podRequests, qosClassOf } from './resources/resources.ts';
import { isRestartableInitContainer } from './restart-policy.ts';
import type { Container, Pod } from './types.ts';

/** OOM score adjustment of guaranteed and node-critical pods. */
export const guaranteedOomScoreAdj = -997;
/** OOM score adjustment of best-effort pods. */
export const bestEffortOomScoreAdj = 1000;

/**
 * Returns the OOM score adjustment of a container: the larger its memory request, the later it is killed.
 * A container counts its share of pod-level requests beyond those of the containers; a sidecar's adjustment is never above that of the
 * containers it serves.
 *
 * Follows kubelet `qos.GetContainerOOMScoreAdjust`.
 */
export function oomScoreAdjOf(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return guaranteedOomScoreAdj;
  const qos = qosClassOf(pod);
  if (qos === 'Guaranteed') return guaranteedOomScoreAdj;
  if (qos === 'BestEffort') return bestEffortOomScoreAdj;
  const score = (bytes: number): number => 1000 - Math.trunc((1000 * bytes) / memoryCapacityBytes);
  const share = podLevelShare(pod);
  const own = score(memoryRequestOf(container) + share);
  const adjust = isInitSidecar(pod, container) ? Math.min(own, score(leastRegularRequest(pod) + share)) : own;
  if (adjust < 1000 + guaranteedOomScoreAdj) return 1000 + guaranteedOomScoreAdj;
  return adjust === bestEffortOomScoreAdj ? adjust - 1 : adjust;
}

const bytesOf = (memory: Quantity | undefined): number => valueOf(memory ?? zeroQuantity);

const memoryRequestOf = (container: Container): number =>
  bytesOf(amountsOf(container.resources?.requests)['memory']);

/** Returns each container's share of the pod-level request beyond the containers' requests; negative when they exceed it. */
function podLevelShare(pod: Pod): number {
  if (bytesOf(amountsOf(pod.spec?.resources?.requests)['memory']) === 0) return 0;
  const count = (pod.spec?.containers ?? []).length + (pod.spec?.initContainers ?? []).length;
  const memory = (skipPodLevel: boolean): number =>
    bytesOf(podRequests(pod, { skipPodLevel, excludeOverhead: true })['memory']);
  return Math.trunc((memory(false) - memory(true)) / count);
}

const isInitSidecar = (pod: Pod, container: Container): boolean =>
  isRestartableInitContainer(container) &&
  (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);

const leastRegularRequest = (pod: Pod): number =>
  Math.min(...(pod.spec?.containers ?? []).map(memoryRequestOf), Infinity);
