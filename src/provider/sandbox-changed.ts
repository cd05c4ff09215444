import type { Pod } from '../kube/types.ts';
import type { RuntimePodStatus } from './runtime-pod.ts';

/** Whether a pod needs a new sandbox, and its attempt number. */
export interface SandboxChange {
  readonly changed: boolean;
  /** The attempt number of the sandbox to use or to create. */
  readonly attempt: number;
  /** The ID of the existing sandbox; `''` when there is none or its network mode is wrong. */
  readonly sandboxId: string;
}

/**
 * Decides whether a pod needs a new sandbox: when it has none, more than one is ready, the newest is not ready, its network mode is not the
 * pod's, or it has a network section without an address (R167).
 *
 * Follows kubelet `runtimeutil.PodSandboxChanged`.
 */
export function podSandboxChanged(pod: Pod, status: RuntimePodStatus): SandboxChange {
  const newest = status.sandboxStatuses[0];
  if (!newest) return { changed: true, attempt: 0, sandboxId: '' };
  const attempt = (newest.attempt + 1) % 2 ** 32; // CRI counts in 32 bits
  const next = { changed: true, attempt, sandboxId: newest.id };
  const isReady = ({ state }: typeof newest): boolean => state === 'SANDBOX_READY';
  if (!isReady(newest) || status.sandboxStatuses.some((one) => one !== newest && isReady(one))) return next;
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (newest.networkMode !== (hostNetwork ? 'NODE' : 'POD')) return { ...next, sandboxId: '' };
  if (!hostNetwork && newest.network?.ip === '') return next;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}
