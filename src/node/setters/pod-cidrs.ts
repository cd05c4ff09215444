import { messageOf } from '../../base/errors.ts';
import type { NodeStatusSetter } from './setter.ts';

/**
 * Calls `tell` with the node's pod CIDRs (`spec.podCIDRs`, joined by commas) once they are known and when they
 * change; a failure is retried in the next round. The node is not changed. Follows kubelet `updatePodCIDR`.
 */
export function podCidrs(tell: (cidrs: string) => Promise<void>): NodeStatusSetter {
  let applied = '';
  return async (node) => {
    const cidrs = node.spec?.podCIDRs?.join(',') ?? '';
    if (cidrs === '' || cidrs === applied) return { node };
    try {
      await tell(cidrs);
      applied = cidrs;
      return { node };
    } catch (reason) {
      return { node, error: `failed to update pod CIDR: ${messageOf(reason)}` };
    }
  };
}
