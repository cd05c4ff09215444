import type { Pod } from '../../kube/types.ts';

/** As metrics name it. */
export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** Counts what is started, and what belongs to it (kubelet `StartedPodsTotal` and the like). */
export interface StartCounts {
  /** A sandbox is to be made. */
  pod(pod: Pod): void;
  podFailed(pod: Pod): void;
  /** A container is to be started; one in back-off is not. */
  container(type: ContainerType): void;
  /** @param reason `ErrImagePull`, `CreateContainerConfigError` and the like */
  containerFailed(type: ContainerType, reason: string, pod: Pod): void;
  /** An init container has started that the pod waits for. */
  initStarted(pod: Pod): void;
  /** @param endedAt ms since the epoch; may be told again and again */
  initEnded(pod: Pod, endedAt: number): void;
  /** A container that mounts images was created, or failed to be. */
  imageVolumes(how: {
    readonly requested: number;
    readonly mounts: number;
    readonly outcome: 'mounted' | 'failed';
  }): void;
  resized(tookMs: number, success: boolean): void;
}

/** Measures pulls of images. */
export interface PullCounts {
  pulling(podUid: string): void;
  /** It succeeded. @param tookMs with the wait for its turn */
  pulled(podUid: string, tookMs: number, bytes: number): void;
}

/** Counts what hooks came to. */
export interface HookCounts {
  /** A server that was to speak TLS was asked again without, and answered. */
  httpFallback(): void;
  /** A sleep was cut short. */
  sleepEnded(): void;
}
