import type { Pod, Secret } from '../kube/types.ts';
import type { RuntimePod, RuntimePodStatus } from './runtime-pod.ts';
import type { ProviderPowers } from './powers.ts';
import type { PodResolution } from './resolution.ts';

/** The result of one action of a sync. Kubelet's `container.SyncResult`. */
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
  /** The container name, or the pod's full name for sandbox actions. */
  readonly target: string;
  /** The waiting reason that users see (R181), e.g. `CrashLoopBackOff`; absent when the action succeeded. */
  readonly reason?: string;
  readonly message?: string;
}

/** The result of a sync. A failed sync resolves with `error`, and the worker tries again. */
export interface PodSyncResult {
  readonly results: readonly SyncResult[];
  /** All failures combined (the kubelet's aggregate); absent when nothing failed. */
  readonly error?: Error;
  /** The earliest end of the back-offs behind `error`, ms since the epoch (R117). */
  readonly backOffUntil?: number;
  /** True when something was started, stopped or changed, so that the pod should be observed again soon (R153). */
  readonly changed: boolean;
}

/** The input of {@link PodProvider.syncPod}. */
export interface SyncPodRequest {
  /** The admitted pod, with the allocated resources in its spec. */
  readonly pod: Pod;
  /** The runtime status, newer than the end of the previous step for this UID (R112). */
  readonly observed: RuntimePodStatus;
  readonly pullSecrets: readonly Secret[];
  /** Resolves the pod's references to API objects; absent when the agent reads no API objects for pods. */
  readonly resolution?: PodResolution;
  /** True when a rule requires all containers of the pod to be restarted. */
  readonly restartAllContainers: boolean;
  /** Call it as soon as a new sandbox has its network, before any image is pulled (R154). May be absent. */
  readonly sandboxReady?: () => void;
  /**
   * Aborts when the termination of the pod is requested. Actions in progress are completed nevertheless (R150), but waits for the pod's own
   * processes, such as hooks, may end. May be absent.
   */
  readonly podEnds?: AbortSignal;
}

/**
 * PodProvider runs pods. Calls for different pods may overlap; calls for one pod never do. Every method must be idempotent, because the
 * worker repeats it until it succeeds.
 *
 * Shape after kubelet `container.Runtime` (SyncPod, KillPod, GetPods, GetPodStatus).
 */
export interface PodProvider extends ProviderPowers {
  /** The provider's name in container IDs and node info, e.g. `containerd`. */
  readonly name: string;

  /** Brings the pod's containers to the state that its spec describes. Does not wait for containers to end (R167…R183). */
  syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult>;

  /**
   * Stops every container and sandbox of a pod and resolves once none runs. Resolving early loses exit codes.
   *
   * @param pod for a pod that only the runtime knows: a pod with only its container names, or absent
   * @param gracePeriodSeconds overrides the pod's own grace period; a later call may shorten it (R101…R103)
   * @throws {AgentError} but never `not_found`: a pod that does not exist counts as stopped
   */

  killPod(
    pod: Pod | undefined,
    running: RuntimePod,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;

  /** Lists every pod of this node that has a container or sandbox, including stopped ones. */
  listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]>;

  /** Lists these pods, and possibly others, at no higher cost than {@link listPods}. When absent, `listPods` is called. */
  listSome?(uids: readonly string[], signal?: AbortSignal): Promise<readonly RuntimePod[]>;

  /** Returns all container instances of one pod; a pod without any has empty lists, not an error. */
  getPodStatus(
    ref: { readonly uid: string; readonly name: string; readonly namespace: string },
    signal?: AbortSignal,
  ): Promise<RuntimePodStatus>;

  /** Like {@link getPodStatus}, for a pod from a listing, without listing it again. When absent, `getPodStatus` is called. */
  getListedPodStatus?(listed: RuntimePod, signal?: AbortSignal): Promise<RuntimePodStatus>;
}

/** What of its Node a provider decides, where pods do not run on this machine: a quota is its capacity. */
export interface NodeDescription {
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels that the node does without where its identity may not set them. */
  readonly optionalLabels?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly capacity?: Readonly<Record<string, string>>;
}

/** The methods of a provider for the node. */
export interface NodeProvider {
  /** Resolves while the provider can run pods; otherwise rejects with the reason, and the node is NotReady. */
  ping(signal: AbortSignal): Promise<void>;
}
