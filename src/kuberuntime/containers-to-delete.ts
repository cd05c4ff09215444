import type { RuntimeContainerStatus, RuntimePodStatus } from '../provider/runtime-pod.ts';
import { runtimeId } from '../containers/kuberuntime/config/convert.ts';

/**
 * R42: exited instances to remove after the container `filterId` ended (all names when empty), newest first, without the newest
 * `keep`. An id that is not of this pod removes nothing. Follows `getContainersToDeleteInPod` (pkg/kubelet/pod_container_deletor.go).
 *
 * @param filterId the runtime's own id
 */
export function containersToDelete(
  filterId: string,
  { containerStatuses }: Pick<RuntimePodStatus, 'containerStatuses'>,
  keep: number,
): readonly RuntimeContainerStatus[] {
  const named = containerStatuses.find(({ id }) => runtimeId(id) === filterId);
  if (filterId !== '' && !named) return [];
  return containerStatuses
    .filter(({ name, state }) => state === 'exited' && (!named || name === named.name))
    .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0))
    .slice(Math.max(0, keep));
}
