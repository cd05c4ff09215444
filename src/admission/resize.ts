import { isStaticPod } from '../kube/names.ts';
import { milliValueOf, valueOf } from '../kube/resources/quantity.ts';
import { amountsOf, podRequestOf } from '../kube/resources/resources.ts';
import type { Node, Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

/** What is asked of an in-place resize before anything else. */
export interface ResizeInput {
  /** As desired. */
  readonly pod: Pod;
  /** Absent: not known yet. */
  readonly node: Node | undefined;
  /** Why the provider could never do it; absent: it can. */
  readonly providerFault: string | undefined;
}

const infeasible = (message: string): AdmitResult => refused('Infeasible', message);

/**
 * Could this resize ever be done here, were the pod alone on the node? What could be done later is for the other steps to say.
 *
 * Follows kubelet `podResizesAdmitHandler.Admit`.
 */
export function admitResize({ pod, node, providerFault }: ResizeInput): AdmitResult {
  if (isStaticPod(pod)) return infeasible('In-place resize of static-pods is not supported');
  if (providerFault !== undefined) return infeasible(providerFault);
  const allocatable = amountsOf(node?.status?.allocatable);
  // with both beyond the node, memory is told
  for (const [name, unitOf] of [
    ['memory', valueOf],
    ['cpu', milliValueOf],
  ] as const) {
    const held = allocatable[name];
    const requested = unitOf(podRequestOf(pod, name));
    const capacity = held ? unitOf(held) : 0;
    if (node && requested > capacity)
      return infeasible(
        `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`,
      );
  }
  return admitted;
}
