import { AgentError } from '../base/errors.ts';
import { isCriticalPod } from '../kube/priority.ts';
import { milliValueOf, valueOf } from '../kube/resources/quantity.ts';
import { podRequestOf, qosClassOf } from '../kube/resources/resources.ts';
import type { Pod } from '../kube/types.ts';

/** A missing amount: cpu in millicores, pods as a count, others in units. */
export interface Requirement {
  readonly resource: string;
  readonly quantity: number;
}

/** True when one pod may preempt the other: critical pods preempt others, and a higher priority preempts a lower one. */
export function isPreemptable(preemptor: Pod, other: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(other)) return true;
  const [priority, otherPriority] = [preemptor.spec?.priority, other.spec?.priority];
  return priority !== undefined && otherPriority !== undefined && priority > otherPriority;
}

/** Returns the amount of a resource that ending a pod frees. */
function requestOf(pod: Pod, resource: string): number {
  if (resource === 'pods') return 1;
  const amount = podRequestOf(pod, resource);
  return resource === 'cpu' ? milliValueOf(amount) : valueOf(amount);
}

/** Returns what is still missing after these pods have ended. */
const subtract = (requirements: readonly Requirement[], pods: readonly Pod[]): readonly Requirement[] =>
  requirements
    .map(({ resource, quantity }) => ({
      resource,
      quantity: pods.reduce((rest, pod) => rest - requestOf(pod, resource), quantity),
    }))
    .filter(({ quantity }) => quantity > 0);

/** Returns how far a pod alone is from freeing what is missing; 0: it frees all of it. */
const distance = (requirements: readonly Requirement[], pod: Pod): number =>
  requirements.reduce((sum, { resource, quantity }) => {
    const rest = quantity - requestOf(pod, resource);
    const share = rest / quantity;
    return rest > 0 ? sum + share * share : sum;
  }, 0);

/** Compares requests; of two equal ones the first counts as smaller, so that the later of two equal pods is selected. */
function requestsLess(pod: Pod, than: Pod): boolean {
  for (const resource of ['memory', 'cpu']) {
    const difference = requestOf(pod, resource) - requestOf(than, resource);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

const notEnough = (missing: readonly Requirement[]): AgentError => {
  const list = missing.map(({ resource, quantity }) => `(res: ${resource}, q: ${quantity}), `).join('');
  return new AgentError('resource_exhausted', `no set of running pods found to reclaim resources: [${list}]`);
};

/** Repeatedly selects the pod nearest to what is missing, until nothing is. */
function nearestFirst(candidates: readonly Pod[], requirements: readonly Requirement[]): readonly Pod[] {
  const left = [...candidates];
  const victims: Pod[] = [];
  for (let missing = requirements; missing.length > 0;) {
    let best = left[0];
    if (!best) throw notEnough(missing);
    let bestDistance = missing.length + 1;
    for (const pod of left) {
      const far = distance(missing, pod);
      if (far > bestDistance || (far === bestDistance && !requestsLess(pod, best))) continue;
      [best, bestDistance] = [pod, far];
    }
    missing = subtract(missing, [best]);
    victims.push(best);
    const last = left.pop();
    const index = left.indexOf(best);
    if (index >= 0 && last) left[index] = last;
  }
  return victims;
}

/**
 * Returns the pods to preempt for a critical pod (R135): as few and small as possible, best-effort before burstable before
 * guaranteed.
 *
 * Follows kubelet `preemption.getPodsToPreempt`.
 *
 * @throws {AgentError} `resource_exhausted` when all of them would not free enough
 */
export function podsToPreempt(
  preemptor: Pod,
  pods: readonly Pod[],
  requirements: readonly Requirement[],
): readonly Pod[] {
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  const of = (qos: string): readonly Pod[] => candidates.filter((pod) => qosClassOf(pod) === qos);
  const [bestEffort, burstable, guaranteed] = [of('BestEffort'), of('Burstable'), of('Guaranteed')];
  const missing = subtract(requirements, [...bestEffort, ...burstable, ...guaranteed]);
  if (missing.length > 0) throw notEnough(missing);
  const fromGuaranteed = nearestFirst(guaranteed, subtract(requirements, [...bestEffort, ...burstable]));
  const fromBurstable = nearestFirst(burstable, subtract(requirements, [...bestEffort, ...fromGuaranteed]));
  const fromBestEffort = nearestFirst(
    bestEffort,
    subtract(requirements, [...fromBurstable, ...fromGuaranteed]),
  );
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}
