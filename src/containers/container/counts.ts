import type { Pod } from '../../kube/types.ts';

/** The `container_type` label of the metrics. */
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** StartCounts counts starts of pods and containers and their failures (kubelet `StartedPodsTotal` and others). */
export interface StartCounts {
  /** Called before a sandbox is created. */
  pod(pod: Pod): void;
  podFailed(pod: Pod): void;
  /** Called before a container is started; not for one in back-off. */
  container(type: ContainerType): void;
  /** Called when a container fails to start. @param reason `ErrImagePull`, `CreateContainerConfigError` and so on */
  containerFailed(type: ContainerType, reason: string, pod: Pod): void;
  /** Called when an init container starts that the pod waits for. */
  initStarted(pod: Pod): void;
  /** Called when an init container has ended; repeated calls count once. @param endedAt ms since the epoch */
  initEnded(pod: Pod, endedAt: number): void;
  /** Called when a container that mounts image volumes was created or failed to be created. */
  imageVolumes(how: {
    readonly requested: number;
    readonly mounts: number;
    readonly outcome: 'mounted' | 'failed';
  }): void;
  resized(tookMs: number, success: boolean): void;
}

/** PullCounts measures image pulls. */
export interface PullCounts {
  pulling(podUid: string): void;
  /** Called after a successful pull. @param tookMs duration including the time in the queue */
  pulled(podUid: string, tookMs: number, bytes: number): void;
}

/** HookCounts counts outcomes of lifecycle hooks. */
export interface HookCounts {
  /** Called when an HTTPS hook fell back to plain HTTP and got a response. */
  httpFallback(): void;
  /** Called when a sleep hook was ended early. */
  sleepEnded(): void;
}
