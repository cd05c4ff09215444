import type { Pod } from '../types.ts';

/** Options of pod validation. Absent means the default of Kubernetes 1.36. */
export interface PodValidationOptions {
  /** Allow privileged and host process containers. Default true; the Go API server's `--allow-privileged`. */
  readonly allowPrivileged?: boolean;
  /** Validate `spec.resources` (gate PodLevelResources). Default true. */
  readonly podLevelResources?: boolean;
  /** Allow the toleration operators `Lt` and `Gt` (gate TaintTolerationComparisonOperators). Default false. */
  readonly taintComparison?: boolean;
  /** Require the reference of image volumes; the kubelet leaves it to the pull of a static pod. Default true. */
  readonly imageReferenceRequired?: boolean;
  /** Require host ports of pods on the host network; in templates they may be absent, as pods get them by default. Default true. */
  readonly hostPortsRequired?: boolean;
  /** Allow `hostUsers: false` with `hostNetwork` (gate UserNamespacesHostNetworkSupport). Default false. */
  readonly userNamespacesHostNetwork?: boolean;
  /** Allow regular init containers with a resize restart policy, as in existing pods. Default false. */
  readonly restartingInitContainers?: boolean;
}

/** Context of the rules of one pod. */
export interface PodContext {
  readonly options: PodValidationOptions;
  readonly pod: Pod;
  /** Sources of valid volumes, by name. */
  readonly volumes: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly claimNames: ReadonlySet<string>;
}
