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

/** What a container gets from the node: worked out from volumes, services, config maps and devices. Kubelet's `RunContainerOptions`. */
export interface RunContainerOptions {
  readonly envs?: readonly { readonly name: string; readonly value: string }[];
  readonly mounts?: readonly Mount[];
  readonly devices?: readonly Device[];
  readonly cdiDevices?: readonly CDIDevice[];
  /** From device plug-ins; the kubelet's own annotations win. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Where the container's termination log file is put; empty: it gets none. */
  readonly podContainerDir?: string;
}

/** Reads and sets the cgroup of a pod. Kubelet's `PodContainerManager`, as far as resizes need it. */
export interface PodCgroupAccess {
  /** What it is set to, and what it has to be for the pod's spec. */
  limits(pod: Pod): PodCgroupChange;
  /** @throws {AgentError} `failed_precondition` with what the kernel refused */
  set(pod: Pod, limits: PodCgroupLimits): Promise<void>;
  /** Bytes; absent: it cannot be read. */
  memoryUsage(pod: Pod): number | undefined;
}

/** What `kuberuntime` asks of the agent around it. Kubelet's `RuntimeHelper`. */
export interface RuntimeHelper {
  /**
   * @param imageVolumes pulled images by volume name
   * @throws {AgentError} when a mandatory reference is missing; the message becomes that of `CreateContainerConfigError`
   */
  generateRunContainerOptions(
    pod: Pod,
    container: Container,
    podIps: readonly string[],
    imageVolumes: ReadonlyMap<string, ImageSpec>,
  ): Promise<RunContainerOptions>;
  /**
   * The container's variables alone, for providers that make no mounts on this machine.
   *
   * @throws {AgentError} as {@link generateRunContainerOptions}
   */
  environment(
    pod: Pod,
    container: Container,
    podIps: readonly string[],
  ): Promise<readonly { readonly name: string; readonly value: string }[]>;
  getPodDns(pod: Pod): Promise<DNSConfig> | DNSConfig;
  /** @throws {AgentError} `invalid_argument` when the fully qualified name is too long */
  hostnameAndDomain(pod: Pod): { readonly hostname: string; readonly domain: string };
  /** The cgroup that the pod's containers are put below; empty: the runtime's choice. */
  cgroupParent(pod: Pod): string;
  /** Groups that the pod's volumes ask for. */
  extraSupplementalGroups(pod: Pod): readonly number[];
  /** R182: the pod is on its way out, so a sandbox that cannot be made is no error. */
  isPodTerminationRequested(uid: string): boolean;
  /** The runtime handler of the pod's runtime class; empty: the default one. */
  runtimeHandler?(pod: Pod): Promise<string>;
  /** The pod's cgroup, while the pod is resized; absent: pods have none of their own. */
  readonly podCgroup?: PodCgroupAccess;
  /**
   * The host's own users, or the ids on the host of a pod that wants users of its own (`hostUsers: false`); absent: the runtime cannot.
   *
   * @throws {AgentError} when the pod cannot have them
   */
  userNamespace?(
    pod: Pod,
    runtimeHandler: string,
  ): Promise<UserNamespace | undefined> | UserNamespace | undefined;
}
