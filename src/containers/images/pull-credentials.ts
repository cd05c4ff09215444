import type { Pod, Secret } from '../../kube/types.ts';
import type { AuthConfig } from '../../provider/cri-messages.ts';

/** Identifies an API object: UID, namespace and name. */
export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A registry credential and its source. Kubelet's `TrackedAuthConfig`. */
export interface PullCredential {
  readonly auth: AuthConfig;
  /** SHA-256 of the credential. */
  readonly hash?: string;
  /** The secret or service account that the credential comes from; absent: the node's own, valid for every pod. */
  readonly source?: { readonly secret: Coordinates } | { readonly serviceAccount: Coordinates };
}

/**
 * Returns the credentials to try for an image, best match first; empty: pull anonymously.
 *
 * @param repository image name with registry, without tag and digest
 * @throws {AgentError} when a pull secret cannot be parsed
 */
export type Keyring = (
  repository: string,
  secrets: readonly Secret[],
  pod: Pod,
) => Promise<readonly PullCredential[]> | readonly PullCredential[];

/**
 * PullRecords keeps track of which credentials each image was pulled with. Kubelet's `ImagePullManager`; images are named as in the
 * container spec.
 */
export interface PullRecords {
  /**
   * Records that a pull begins; {@link recordPulled} or {@link recordFailed} must follow.
   *
   * @throws {AgentError} when the record cannot be written
   */
  recordIntent(image: string): void;
  /** Records a successful pull. @param used the credential; absent: anonymous */
  recordPulled(image: string, imageRef: string, used: PullCredential | undefined): void;
  recordFailed(image: string): void;
  /**
   * Decides whether a pod must pull a present image to prove that it has access to it.
   *
   * @param credentials looks up the pod's credentials; called only when they matter
   */
  mustAttemptPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean>;
}
