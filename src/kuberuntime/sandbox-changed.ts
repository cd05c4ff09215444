import type { Pod } from '../kube/types.ts';
import type { RuntimePodStatus } from '../provider/runtime-pod.ts';

/** Whether a new sandbox is needed (R167), which attempt it is, and which one it takes the place of. */
export interface SandboxChange {
  readonly changed: boolean;
  readonly attempt: number;
  /** Empty: there is none, or its network namespace mode differs. */
  readonly sandboxId: string;
}

/**
 * R167. A sandbox without any network section passes; one with an empty address does not.
 * Follows `PodSandboxChanged` (pkg/kubelet/kuberuntime/util).
 */
export function podSandboxChanged(pod: Pod, { sandboxStatuses }: RuntimePodStatus): SandboxChange {
  const [newest] = sandboxStatuses;
  if (!newest) return { changed: true, attempt: 0, sandboxId: '' };
  const next = { changed: true, attempt: newest.attempt + 1, sandboxId: newest.id };
  const ready = sandboxStatuses.filter(({ state }) => state === 'SANDBOX_READY').length;
  if (ready > 1 || newest.state !== 'SANDBOX_READY') return next;
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (newest.networkMode !== (hostNetwork ? 'NODE' : 'POD')) return { ...next, sandboxId: '' };
  if (!hostNetwork && newest.network?.ip === '') return next;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}
