import type { Pod, Secret } from '../../kube/types.ts';
import type { AuthConfig } from '../../provider/cri-messages.ts';

/** What names an object of the API for good. */
export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A credential to pull with, and whose it is. Kubelet's `TrackedAuthConfig`. */
export interface PullCredential {
  readonly auth: AuthConfig;
  /** SHA-256 of the credential. */
  readonly hash?: string;
  /** Absent: it is the node's, and so every pod's. */
  readonly source?: { readonly secret: Coordinates } | { readonly serviceAccount: Coordinates };
}

/**
 * The credentials to try for an image, best first; none: pull without.
 *
 * @param repository the image without tag and digest, with its registry
 * @throws {AgentError} a pull secret cannot be read
 */
export type Keyring = (
  repository: string,
  secrets: readonly Secret[],
  pod: Pod,
) => Promise<readonly PullCredential[]> | readonly PullCredential[];

/** Remembers who pulled what with which credentials. Kubelet's `ImagePullManager`; images are as containers name them. */
export interface PullRecords {
  /**
   * Before a pull; one of the other two must follow.
   *
   * @throws {AgentError} it cannot be written down
   */
  recordIntent(image: string): void;
  /** @param used absent: it took none */
  recordPulled(image: string, imageRef: string, used: PullCredential | undefined): void;
  recordFailed(image: string): void;
  /**
   * Must a pod that wants an image that is already there show by a pull that it may have it?
   *
   * @param credentials those of the pod, asked for only when they matter
   */
  mustAttemptPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean>;
}
