import type { Pod } from '../types.ts';

/** What validation allows beside the rules that always hold. Absent means the default of Kubernetes 1.36. */
export interface PodValidationOptions {
  /** Privileged and host process containers may run. Default true; the Go API server's `--allow-privileged`. */
  readonly allowPrivileged?: boolean;
  /** `spec.resources` is looked at (gate PodLevelResources). Default true. */
  readonly podLevelResources?: boolean;
  /** Tolerations may compare numbers with `Lt` and `Gt` (gate TaintTolerationComparisonOperators). Default false. */
  readonly taintComparison?: boolean;
  /** An image volume must name its image; the kubelet leaves that to the pull of a static pod. Default true. */
  readonly imageReferenceRequired?: boolean;
  /** `hostUsers: false` together with `hostNetwork` (gate UserNamespacesHostNetworkSupport). Default false. */
  readonly userNamespacesHostNetwork?: boolean;
  /** Init containers that run to their end may begin anew when they are resized, as those of old pods do. Default false. */
  readonly restartingInitContainers?: boolean;
}

/** What the rules of one pod look up beside their own field. */
export interface PodContext {
  readonly options: PodValidationOptions;
  readonly pod: Pod;
  /** Sources of the volumes that are themselves valid, by name. */
  readonly volumes: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly claimNames: ReadonlySet<string>;
}
