import type { DNSConfig } from './cri-messages.ts';
import type { Container, Volume } from '../kube/types.ts';

/** A file of a volume that is built from API objects. */
export interface VolumeFile {
  /** The path relative to the volume's root, e.g. `conf/app.yaml`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** The permission bits. */
  readonly mode: number;
}

/**
 * PodResolution resolves a pod's references to API objects. Providers whose containers run elsewhere send the results there; providers for
 * this machine get mounts and variables from the runtime helper instead.
 */
export interface PodResolution {
  /**
   * Returns the environment variables of a container, in order: service links, `envFrom`, and `env` with all references resolved. Fields
   * that are set only after the start (`status.podIP`) come from the pod's status and are empty where it has none.
   *
   * @throws {AgentError} a reference that cannot be resolved, in the kubelet's words
   */
  environment(container: Container): Promise<readonly { readonly name: string; readonly value: string }[]>;
  /**
   * Returns the files of a configMap, secret, downwardAPI or projected volume; `undefined` for volumes of other kinds.
   *
   * @throws {AgentError} when an object or key is missing and not optional
   */
  files(volume: Volume): Promise<readonly VolumeFile[] | undefined>;
  /**
   * Returns the name servers, search domains and options for the pod's `/etc/resolv.conf`; members that the node does not set are absent.
   */
  dns(): Promise<DNSConfig>;
  /** Returns the host name for the pod's processes. @throws {AgentError} when the fully qualified name is too long */
  hostname(): string;
}
