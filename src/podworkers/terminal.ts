import type { RuntimePodStatus } from '../provider/runtime-pod.ts';

/** True when the pod has no running container and no ready sandbox (R90). Follows kubelet `isPodStatusCacheTerminal`. */
export function isRuntimeIdle({ containerStatuses, sandboxStatuses }: RuntimePodStatus): boolean {
  return (
    !containerStatuses.some(({ state }) => state === 'running') &&
    !sandboxStatuses.some(({ state }) => state === 'SANDBOX_READY')
  );
}
