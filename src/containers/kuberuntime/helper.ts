import type { Container, Pod } from '../../kube/types.ts';
import type {
  CDIDevice,
  Device,
  DNSConfig,
  ImageSpec,
  Mount,
  UserNamespace,
} from '../../provider/cri-messages.ts';
import type { PodCgroupChange, PodCgroupLimits } from './resize/resize-plan.ts';

/** What the node contributes to a container: mounts, environment, devices. Kubelet's `RunContainerOptions`. */
export interface RunContainerOptions {
  readonly envs?: readonly { readonly name: string; readonly value: string }[];
  readonly mounts?: readonly Mount[];
  readonly devices?: readonly Device[];
  readonly cdiDevices?: readonly CDIDevice[];
  /** Annotations from device plug-ins; the kubelet's own override them. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Directory of the container's termination log file; empty: it gets none. */
  readonly podContainerDir?: string;
}

/** PodCgroupAccess reads and updates the cgroup of a pod for resizes. Part of kubelet's `PodContainerManager`. */
export interface PodCgroupAccess {
  /** Returns the current limits and those that the pod's spec asks for. */
  limits(pod: Pod): PodCgroupChange;
  /** Updates the limits. @throws {AgentError} `failed_precondition` with the kernel's error */
  set(pod: Pod, limits: PodCgroupLimits): Promise<void>;
  /** Memory usage in bytes; absent when it cannot be read. */
  memoryUsage(pod: Pod): number | undefined;
}

/** RuntimeHelper is what `kuberuntime` needs from the rest of the agent. Kubelet's `RuntimeHelper`. */
export interface RuntimeHelper {
  /**
   * Returns the node's contribution to a container. @param imageVolumes pulled images by volume name
   * @throws {AgentError} when a mandatory reference is missing; the message becomes that of `CreateContainerConfigError`
   */
  generateRunContainerOptions(
    pod: Pod,
    container: Container,
    podIps: readonly string[],
    imageVolumes: ReadonlyMap<string, ImageSpec>,
  ): Promise<RunContainerOptions>;
  /**
   * Returns only the container's environment, for providers that do not mount from this machine.
   *
   * @throws {AgentError} as {@link generateRunContainerOptions}
   */
  environment(
    pod: Pod,
    container: Container,
    podIps: readonly string[],
  ): Promise<readonly { readonly name: string; readonly value: string }[]>;
  getPodDns(pod: Pod): Promise<DNSConfig> | DNSConfig;
  /** Returns the pod's host name and domain. @throws {AgentError} `invalid_argument` when the fully qualified name is too long */
  hostnameAndDomain(pod: Pod): { readonly hostname: string; readonly domain: string };
  /** Returns the cgroup parent of the pod's containers; empty: the runtime chooses. */
  cgroupParent(pod: Pod): string;
  /** Returns the groups that the pod's volumes require. */
  extraSupplementalGroups(pod: Pod): readonly number[];
  /** True while the pod is being terminated; failing to create its sandbox is no error then (R182). */
  isPodTerminationRequested(uid: string): boolean;
  /** Returns the runtime handler of the pod's runtime class; empty: the default handler. */
  runtimeHandler?(pod: Pod): Promise<string>;
  /** Access to the pod's cgroup for resizes; absent: pods have no cgroup of their own. */
  readonly podCgroup?: PodCgroupAccess;
  /**
   * Returns the user namespace of a pod: the host's, or mapped ids (`hostUsers: false`). Absent: the runtime does not support user
   * namespaces.
   *
   * @throws {AgentError} when the pod's user namespace cannot be provided
   */
  userNamespace?(
    pod: Pod,
    runtimeHandler: string,
  ): Promise<UserNamespace | undefined> | UserNamespace | undefined;
}
