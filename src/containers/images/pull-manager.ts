import { ownMember } from '../../base/own.ts';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { repositoryOf } from '../../kube/image-reference.ts';
import type { Coordinates, PullCredential, PullRecords } from './pull-credentials.ts';
import type { Image } from '../../provider/cri-messages.ts';
import {
  credentialsOf,
  type ImagePullCredentials,
  type ImagePulledRecord,
  type ImagePullSecret,
  newRecord,
  withCredentials,
  type RequiresVerification,
} from './pull-record.ts';
import type { PullRecordFiles } from './pull-record-files.ts';

export interface PullManagerDeps {
  readonly files: PullRecordFiles;
  readonly requiresVerification: RequiresVerification;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Above this number of recorded secrets per image, further matches are not recorded. */
const mostSecretsByMatch = 100;

/**
 * PullManager decides by recorded credentials whether a pod may use an image that is present: only when the pod could have pulled it.
 * Follows `PullManager` (pkg/kubelet/images/pullmanager).
 */
export class PullManager implements PullRecords {
  readonly #deps: PullManagerDeps;
  /** Number of pulls in progress by image. */
  readonly #intents = new Map<string, number>();

  constructor(deps: PullManagerDeps) {
    this.#deps = deps;
  }

  /**
   * Completes pulls that an earlier agent began: an image that is now present is recorded as pulled with unknown credentials. Call it
   * first.
   *
   * @param images all images of the runtime
   */
  initialize(images: readonly Image[]): void {
    const intents = new Set(this.#deps.files.intents());
    for (const { id = '', repoTags = [], repoDigests = [] } of images)
      for (const image of [...repoDigests, ...repoTags].filter((name) => intents.has(name)))
        this.#attempt('image pull record could not be written', image, () => {
          this.#record(image, id, undefined);
          this.#deps.files.deleteIntent(image);
        });
  }

  recordIntent(image: string): void {
    try {
      this.#deps.files.writeIntent(image);
    } catch (cause) {
      throw new AgentError('internal', `failed to record image pull intent: ${messageOf(cause)}`, { cause });
    }
    this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
  }

  recordPulled(image: string, imageRef: string, used: PullCredential | undefined): void {
    // Keep the intent on failure, so that the image does not look preloaded.
    this.#attempt('failed to write image pulled record', image, () => {
      this.#record(image, imageRef, credentialsOf(used));
      this.#endIntent(image);
    });
  }

  recordFailed(image: string): void {
    this.#attempt('failed to remove image pull intent', image, () => {
      this.#endIntent(image);
    });
  }

  async mustAttemptPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean> {
    if (imageRef === '') return true;
    const found = this.#look(image, imageRef);
    if (!found) return true;
    if (!this.#deps.requiresVerification(image, found.pulledByAgent)) return false;
    const credentialsByKind = ownMember(found.record?.credentialMapping, repositoryOf(image)) ?? {};
    if (credentialsByKind.nodePodsAccessible) return false;
    const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [] } = credentialsByKind;
    if (secrets.length + accounts.length === 0) return true;
    const own = await credentials();
    if (this.#knowsSecret(image, imageRef, { secrets, own: secretsOf(own) })) return false;
    const account = serviceAccountOf(own);
    return !accounts.some((old) => account !== undefined && isSame(old, account));
  }

  /** Returns the records of an image; `undefined` when they cannot be read, which forces a pull. */
  #look(image: string, imageRef: string): { record?: ImagePulledRecord; pulledByAgent: boolean } | undefined {
    try {
      const record = this.#deps.files.pulled(imageRef);
      if (record) return { record, pulledByAgent: true };
      return { pulledByAgent: this.#intents.has(image) || this.#deps.files.hasIntent(image) };
    } catch (reason) {
      this.#deps.logger.error('records of image pulls cannot be read', { image, err: messageOf(reason) });
      return undefined;
    }
  }

  /**
   * Removes records of images that no longer exist; called by image garbage collection.
   *
   * @param until records written since then are kept, ms since the epoch; a time before `imageRefs` were listed
   */
  prune(imageRefs: ReadonlySet<string>, until: number): void {
    for (const { imageRef, lastUpdatedTime } of this.#deps.files.allPulled())
      if (Date.parse(lastUpdatedTime) < until && !imageRefs.has(imageRef))
        this.#attempt('failed to remove an image pulled record', imageRef, () => {
          this.#deps.files.deletePulled(imageRef);
        });
  }

  /** Matches a secret by its coordinates or its content; on a match, records the missing one of both. */
  #knowsSecret(
    image: string,
    imageRef: string,
    { secrets, own }: { secrets: readonly ImagePullSecret[]; own: readonly ImagePullSecret[] },
  ): boolean {
    const mayWrite = secrets.length < mostSecretsByMatch;
    for (const secret of own)
      for (const old of secrets) {
        const sameContent = old.credentialHash !== '' && old.credentialHash === secret.credentialHash;
        const same = isSame(old, secret);
        if (!sameContent && !(same && mayWrite)) continue;
        if (sameContent !== same && mayWrite)
          this.#attempt('failed to write an image pulled record', image, () => {
            this.#record(image, imageRef, { kubernetesSecrets: [secret] });
          });
        return true;
      }
    return false;
  }

  #record(image: string, imageRef: string, credentials: ImagePullCredentials | undefined): void {
    const { files, clock } = this.#deps;
    const repository = repositoryOf(image);
    let old: ImagePulledRecord | undefined;
    this.#attempt('image pulled record cannot be read and is created again', image, () => {
      old = files.pulled(imageRef);
    });
    const next = old
      ? withCredentials(old, repository, credentials, clock.now())
      : newRecord(imageRef, repository, credentials, clock.now());
    if (next !== old) files.writePulled(next);
  }

  #endIntent(image: string): void {
    const left = (this.#intents.get(image) ?? 0) - 1;
    if (left > 0) {
      this.#intents.set(image, left);
      return;
    }
    this.#deps.files.deleteIntent(image);
    this.#intents.delete(image);
  }

  #attempt(what: string, image: string, act: () => void): void {
    try {
      act();
    } catch (reason) {
      this.#deps.logger.error(what, { image, err: messageOf(reason) });
    }
  }
}

const isSame = (a: Coordinates, b: Coordinates): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

const secretsOf = (credentials: readonly PullCredential[]): readonly ImagePullSecret[] =>
  credentials.flatMap(({ source, hash = '' }) =>
    source && 'secret' in source ? [{ ...source.secret, credentialHash: hash }] : [],
  );

const serviceAccountOf = (credentials: readonly PullCredential[]): Coordinates | undefined =>
  credentials.flatMap(({ source }) =>
    source && 'serviceAccount' in source ? [source.serviceAccount] : [],
  )[0];
