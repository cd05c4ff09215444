import type { RuntimePodStatus } from '../provider/runtime-pod.ts';

/** R90: nothing of the pod runs: no running container, no ready sandbox. Follows kubelet `isPodStatusCacheTerminal`. */
export function isRuntimeIdle({ containerStatuses, sandboxStatuses }: RuntimePodStatus): boolean {
  return (
    !containerStatuses.some(({ state }) => state === 'running') &&
    !sandboxStatuses.some(({ state }) => state === 'SANDBOX_READY')
  );
}
