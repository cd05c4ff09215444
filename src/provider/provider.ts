import type { Pod, Secret } from '../kube/types.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';
import type { ProviderPowers } from './powers.ts';
import type { PodResolution } from './resolution.ts';

/** What one part of a sync tried. Kubelet's `container.SyncResult`. */
export interface SyncResult {
  readonly action:
    | 'StartContainer'
    | 'KillContainer'
    | 'InitContainer'
    | 'CreatePodSandbox'
    | 'ConfigPodSandbox'
    | 'KillPodSandbox'
    | 'ResizePodInPlace'
    | 'RemoveContainer';
  /** Container name, or pod full name for sandbox actions. */
  readonly target: string;
  /** The waiting reason that users see (R181), e.g. `CrashLoopBackOff`; absent: it worked. */
  readonly reason?: string;
  readonly message?: string;
}

/** How a sync went. A sync that failed resolves too: `error` tells it, and the worker tries again. */
export interface PodSyncResult {
  readonly results: readonly SyncResult[];
  /** The whole failure in one text (kubelet's aggregate); absent: nothing failed. */
  readonly error?: Error;
  /** Earliest end (ms since the epoch) of the back-offs behind `error` (R117). */
  readonly backOffUntil?: number;
  /** Something was started, stopped or changed, so a fresh observation is wanted soon (R153). */
  readonly changed: boolean;
}

/** What a sync of one pod is given. */
export interface SyncPodRequest {
  /** The pod as admitted: spec with allocated resources. */
  readonly pod: Pod;
  /** Newer than the end of the previous step for this UID (R112). */
  readonly observed: RuntimePodStatus;
  readonly pullSecrets: readonly Secret[];
  /** Works out what the pod's references stand for; absent: the agent reads no API objects for pods. */
  readonly resolution?: PodResolution;
  /** A rule asked for all containers of the pod to start anew. */
  readonly restartAllContainers: boolean;
  /** To be called as soon as a new sandbox has its network, before any image is pulled (R154); absent: nobody wants to know. */
  readonly sandboxReady?: () => void;
  /**
   * Aborts when the pod is to end. What has begun is carried through nevertheless (R150), but what waits for the pod's own servers, as hooks
   * do, need not be waited for any longer; absent: nothing tells.
   */
  readonly podEnds?: AbortSignal;
}

/**
 * Where pods run. Calls for different pods overlap; calls for one pod never do.
 * Every method must be idempotent: the worker repeats it until it succeeds.
 *
 * Shape after kubelet `container.Runtime` (SyncPod, KillPod, GetPods, GetPodStatus).
 */
export interface PodProvider extends ProviderPowers {
  /** How the provider names itself in container IDs and node info, e.g. `containerd`. */
  readonly name: string;

  /** Brings the pod's containers to its spec and returns; it does not wait for them to end (R167…R183). */
  syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult>;

  /**
   * Stops every container and sandbox and resolves once none runs. Resolving early loses exit codes.
   *
   * @param pod of what only the runtime knows: the names of its containers alone, or absent
   * @param gracePeriodSeconds overrides the pod's own; a later call may shorten it (R101…R103)
   * @throws {AgentError} never `not_found`: a pod that is not there has stopped
   */

  killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;

  /** Every pod of this node that has a container or sandbox, stopped ones too. */
  listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;

  /** These pods as {@link listPods} shows them, maybe others too, for no more than a whole listing; absent: the listing is asked. */
  listSome?(uids: readonly string[], signal?: AbortSignal): Promise<readonly RuntimePod[]>;

  /** All instances of one pod; a pod without any gives empty lists, not an error. */
  getPodStatus(
    ref: { readonly uid: string; readonly name: string; readonly namespace: string },
    signal?: AbortSignal,
  ): Promise<RuntimePodStatus>;

  /** {@link getPodStatus} as far as a listing showed the pod, without listing it again; absent: that is asked instead. */
  getListedPodStatus?(listed: RuntimePod, signal?: AbortSignal): Promise<RuntimePodStatus>;
}

/** The node's side of a provider. */
export interface NodeProvider {
  /** Resolves while the provider can run pods; rejects with what is wrong. The node is NotReady then. */
  ping(signal: AbortSignal): Promise<void>;
}
