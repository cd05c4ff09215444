import { milliValueOf, parseQuantity, valueOf } from '../kube/quantity.ts';
import { podRequests } from '../kube/resources.ts';
import type { Node, Pod } from '../kube/types.ts';
import { StatusError } from './status-error.ts';

/** What is compared, and in which unit it is told. */
const compared = [
  ['cpu', milliValueOf],
  ['memory', valueOf],
] as const;

/** A resized pod must fit its node, were it alone there. @returns the 403; `undefined`: it fits */
export function resizeBeyondNode(pod: Pod, node: Node): StatusError | undefined {
  const requests = podRequests({ ...pod, status: {} });
  const allocatable = node.status?.allocatable ?? {};
  for (const [resource, unitOf] of compared) {
    const [wanted, there] = [requests[resource], allocatable[resource]];
    if (wanted === undefined || there === undefined) continue;
    const [requested, held] = [unitOf(wanted), unitOf(parseQuantity(there))];
    if (requested <= held) continue;
    const name = pod.metadata?.name ?? '';
    const why = `node didn't have enough allocatable resources: ${resource}, requested: ${requested}, allocatable: ${held}`;
    return new StatusError(403, 'Forbidden', `pods "${name}" is forbidden: ${why}`, {
      details: { name, kind: 'pods', causes: [{ reason: 'NodeCapacity' }] },
    });
  }
  return undefined;
}
