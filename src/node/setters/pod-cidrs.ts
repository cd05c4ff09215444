import { messageOf } from '../../base/errors.ts';
import type { NodeStatusSetter } from './setter.ts';

/**
 * Changes nothing of the node, but tells of its pods' addresses (`spec.podCIDRs`, joined by commas) once they are known, and when they
 * change; what fails is tried again in the next round. Follows kubelet `updatePodCIDR`.
 */
export function podCidrs(tell: (cidrs: string) => Promise<void>): NodeStatusSetter {
  let told = '';
  return async (node) => {
    const cidrs = node.spec?.podCIDRs?.join(',') ?? '';
    if (cidrs === '' || cidrs === told) return { node };
    try {
      await tell(cidrs);
      told = cidrs;
      return { node };
    } catch (reason) {
      return { node, error: `failed to update pod CIDR: ${messageOf(reason)}` };
    }
  };
}
