import type { DNSConfig } from './cri-messages.ts';
import type { Container, Volume } from '../kube/types.ts';

/** A file of a volume that is made from API objects. */
export interface VolumeFile {
  /** Below the volume's root, e.g. `conf/app.yaml`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
}

/**
 * PodResolution is what the agent works out from API objects for a pod's containers. Providers whose containers run elsewhere send it there;
 * those for this machine get mounts and variables from the runtime helper instead.
 */
export interface PodResolution {
  /**
   * The variables of a container, in order: service links, `envFrom` and `env` with all references resolved. Fields that are unknown before
   * the pod starts (`status.podIP`) are those of the pod's status, empty where it has none.
   *
   * @throws {AgentError} a reference that cannot be resolved, in the kubelet's words
   */
  environment(container: Container): Promise<readonly { readonly name: string; readonly value: string }[]>;
  /**
   * The files of a configMap, secret, downwardAPI or projected volume; undefined for volumes of other kinds.
   *
   * @throws {AgentError} an object or key that is missing and not optional
   */
  files(volume: Volume): Promise<readonly VolumeFile[] | undefined>;
  /** Name servers, search domains and options for the pod's `/etc/resolv.conf`; members are absent where the node knows none. */
  dns(): Promise<DNSConfig>;
  /** The host name that the pod's processes see. @throws {AgentError} the fully qualified name is too long */
  hostname(): string;
}
