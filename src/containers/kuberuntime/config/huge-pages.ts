import { valueOf } from '../../../kube/resources/quantity.ts';
import { amountsOf, hugePageSizeOf, type ResourceList } from '../../../kube/resources/resources.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import type { HugepageLimit } from '../../../provider/cri-messages.ts';
import { hugePageUnit } from '../../../kube/resources/huge-page-unit.ts';

/**
 * Returns a limit for each huge page size of the host, 0 where there is none, so that no size is unlimited. A size for which the container
 * has no limit of its own gets the pod's.
 *
 * Follows `GetHugepageLimitsFromResources` (pkg/kubelet/kuberuntime).
 *
 * @param hostSizes in the form of {@link hugePageUnit}
 */
export function hugePageLimits(
  pod: Pod,
  container: Container,
  hostSizes: readonly string[],
): readonly HugepageLimit[] {
  const limits = new Map([
    ...bytesBySize(pod.spec?.resources?.limits),
    ...bytesBySize(container.resources?.limits),
  ]);
  return hostSizes.map((pageSize) => ({ pageSize, limit: limits.get(pageSize) ?? 0 }));
}

function bytesBySize(limits: ResourceList | undefined): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const [name, amount] of Object.entries(amountsOf(limits))) {
    const size = hugePageSizeOf(name);
    if (size) sizes.set(hugePageUnit(valueOf(size)), valueOf(amount));
  }
  return sizes;
}
