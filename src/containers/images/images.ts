import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Slots } from '../../base/slots.ts';
import { goDuration } from '../../kube/duration.ts';
import { goQuote } from '../../go/go-quote.ts';
import { uidOf } from '../../kube/names.ts';
import type { Pod, Secret } from '../../kube/types.ts';
import type { ImageService } from '../../provider/container-runtime.ts';
import type { Image, ImageSpec, PodSandboxConfig } from '../../provider/cri-messages.ts';
import type { BackoffTable } from '../container/backoff.ts';
import type { PullCounts } from '../container/counts.ts';
import { repositoryOf, withDefaultTag } from '../../kube/image-reference.ts';
import { type ImageUser, imageUserOf } from './image-user.ts';
import type { Keyring, PullCredential, PullRecords } from './pull-credentials.ts';
import { aggregate, StartError } from '../container/runtime-errors.ts';

/** Records an event about one container. */
export type NoteEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

export interface ImageManagerDeps {
  readonly images: ImageService;
  readonly backoff: BackoffTable;
  readonly clock: Pick<Clock, 'now'>;
  /** Pulls run in these; one slot is the kubelet's `serializeImagePulls`. */
  readonly slots: Slots;
  readonly keyring: Keyring;
  /** Absent: a present image may be used by every pod. */
  readonly records?: PullRecords;
  /** False when the feature gate `KubeletEnsureSecretPulledImages` is off; events do not mention access then. */
  readonly checksAccess?: boolean;
  /** Takes a token of the `registryPullQPS` limit; returns false when there is none. Absent: no limit. */
  readonly mayPull?: () => boolean;
  /** Metrics of pulls; absent: not measured. */
  readonly counts?: PullCounts;
}

/** The image that a container or image volume needs. */
export interface ImageRequest {
  readonly pod: Pod;
  readonly image: string;
  /** Pull policy: `Always`, `IfNotPresent` or `Never`. */
  readonly policy: string | undefined;
  readonly secrets: readonly Secret[];
  readonly sandboxConfig?: PodSandboxConfig;
  readonly runtimeHandler?: string;
}

/** An image that is present on the node. */
export interface PresentImage {
  /** The reference that containers are created from. */
  readonly imageRef: string;
  /** The text of the event when no pull was needed; otherwise empty. */
  readonly message: string;
  /** The user that the image runs as; absent: not inspected. */
  readonly user?: ImageUser;
}

interface HowToPull {
  readonly credentials: readonly PullCredential[];
  readonly note: NoteEvent;
  readonly signal?: AbortSignal;
}

interface Pulled {
  readonly imageRef: string;
  /** The credential of the pull; absent: none was needed. */
  readonly used?: PullCredential;
}

/** Suffix of the `Pulled` event of a present image after the pod's access to it was verified. */
const accessible = ' and can be accessed by the pod';

/** Prefixes of runtime errors that become a pull error of their own, and the user-facing description. */
const knownPullErrors: Readonly<Record<string, string>> = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
};

/**
 * ImageManager makes images present: inspects, pulls as the policy says, and backs off per pod and image after a failed pull.
 * Follows `imageManager.EnsureImageExists` (pkg/kubelet/images).
 */
export class ImageManager {
  readonly #deps: ImageManagerDeps;
  /** Error of the last failed pull by back-off key; shown during the back-off. */
  readonly #lastFailure = new Map<string, string>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
  }

  /**
   * Makes an image present. @throws {StartError} with an image reason of R181
   */
  async ensureImageExists(
    request: ImageRequest,
    note: NoteEvent,
    signal?: AbortSignal,
  ): Promise<PresentImage> {
    const spec = this.#spec(request, note);
    const { image, policy } = request;
    const credentials = this.#credentialsFor(request, spec);
    if (policy === 'IfNotPresent' || policy === 'Never') {
      const found = await this.#present(spec, note, signal);
      const imageRef = found?.id ?? '';
      if (imageRef !== '' && !(await this.#mustPull(image, imageRef, credentials))) {
        const message = `Container image ${goQuote(image)} already present on machine${this.#deps.checksAccess === false ? '' : accessible}`;
        note('Normal', 'Pulled', message);
        return { imageRef, message, user: imageUserOf(found) };
      }
      if (policy === 'Never') {
        const message = `Container image ${goQuote(image)} is not present with pull policy of Never`;
        throw fail(note, 'ErrImageNeverPull', 'ErrImageNeverPull', message);
      }
    }
    const how = { credentials: await credentials(), note, ...(signal && { signal }) };
    const imageRef = await this.#recorded(image, () => this.#pull(request, spec, how));
    return { imageRef, message: '' };
  }

  /**
   * Returns the user that a pulled image runs as.
   *
   * @param imageRef from {@link ensureImageExists}
   */
  async userOf(imageRef: string, signal?: AbortSignal): Promise<ImageUser> {
    const { image } = await this.#deps.images.imageStatus(
      { image: { image: imageRef } },
      signal && { signal },
    );
    return imageUserOf(image);
  }

  #spec({ image, pod, runtimeHandler }: ImageRequest, note: NoteEvent): ImageSpec {
    const annotations = pod.metadata?.annotations;
    try {
      return {
        image: withDefaultTag(image),
        userSpecifiedImage: image,
        ...(annotations && { annotations }),
        ...(runtimeHandler && { runtimeHandler }),
      };
    } catch (reason) {
      const message = `Failed to apply default image tag ${goQuote(image)}: ${messageOf(reason)}`;
      throw fail(note, 'InspectFailed', 'InvalidImageName', message);
    }
  }

  async #present(
    image: ImageSpec,
    note: NoteEvent,
    signal: AbortSignal | undefined,
  ): Promise<Image | undefined> {
    try {
      return (await this.#deps.images.imageStatus({ image }, signal && { signal })).image;
    } catch (reason) {
      // The kubelet prints the image reference here, which is empty because the inspection failed.
      throw fail(
        note,
        'InspectFailed',
        'ImageInspectError',
        `Failed to inspect image "": ${messageOf(reason)}`,
      );
    }
  }

  /** Returns a function that looks up the pod's credentials on first use. */
  #credentialsFor(
    { pod, secrets }: ImageRequest,
    { image = '' }: ImageSpec,
  ): () => Promise<readonly PullCredential[]> {
    let found: Promise<readonly PullCredential[]> | undefined;
    return () => {
      found ??= (async () => this.#deps.keyring(repositoryOf(image), secrets, pod))();
      return found.catch((reason: unknown) => {
        // The kubelet uses the error itself as the reason.
        throw new StartError(messageOf(reason), messageOf(reason), { cause: reason });
      });
    };
  }

  async #mustPull(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
  ): Promise<boolean> {
    return (await this.#deps.records?.mustAttemptPull(image, imageRef, credentials)) ?? false;
  }

  /** Records the intent to pull before the pull and its result after it, so that the image does not look preloaded. */
  async #recorded(image: string, pull: () => Promise<Pulled>): Promise<string> {
    const { records } = this.#deps;
    try {
      records?.recordIntent(image);
    } catch (cause) {
      const message = `Failed to record image pull intent for container image ${goQuote(image)}: ${messageOf(cause)}`;
      throw new StartError(messageOf(cause), message, { cause });
    }
    try {
      const { imageRef, used } = await pull();
      records?.recordPulled(image, imageRef, used);
      return imageRef;
    } catch (reason) {
      records?.recordFailed(image);
      throw reason;
    }
  }

  async #pull(request: ImageRequest, spec: ImageSpec, how: HowToPull): Promise<Pulled> {
    const { backoff, clock, slots, counts } = this.#deps;
    const { note } = how;
    const { image } = request;
    const key = `${uidOf(request.pod)}_${image}`;
    if (backoff.isInBackOffSinceUpdate(key, steadyNow(clock))) {
      const message = `Back-off pulling image ${goQuote(image)}`;
      note('Normal', 'BackOff', message);
      const before = this.#lastFailure.get(key);
      throw new StartError('ImagePullBackOff', before === undefined ? message : `${message}: ${before}`);
    }
    this.#lastFailure.delete(key);
    counts?.pulling(uidOf(request.pod));
    note('Normal', 'Pulling', `Pulling image ${goQuote(image)}`);
    const requestedAt = steadyNow(clock);
    try {
      const pulled = await slots.run(() => this.#pullNow(request, spec, how), how.signal);
      const tookMs = Math.floor(steadyNow(clock) - requestedAt);
      const total = goDuration(tookMs);
      counts?.pulled(uidOf(request.pod), tookMs, pulled.bytes);
      note(
        'Normal',
        'Pulled',
        `Successfully pulled image ${goQuote(image)} in ${goDuration(pulled.pullMs)} (${total} including waiting). Image size: ${pulled.bytes} bytes.`,
      );
      backoff.gc();
      return pulled;
    } catch (reason) {
      note('Warning', 'Failed', `Failed to pull image ${goQuote(image)}: ${messageOf(reason)}`);
      backoff.next(key, steadyNow(clock));
      const error = pullError(image, messageOf(reason), reason);
      this.#lastFailure.set(key, `${error.reason}: ${error.message}`);
      throw error;
    }
  }

  async #pullNow(
    request: ImageRequest,
    spec: ImageSpec,
    how: HowToPull,
  ): Promise<Pulled & { readonly pullMs: number; readonly bytes: number }> {
    const { clock } = this.#deps;
    const startedAt = steadyNow(clock);
    const pulled = await this.#tryCredentials(request, spec, how);
    const pullMs = Math.floor(steadyNow(clock) - startedAt);
    return { ...pulled, pullMs, bytes: await this.#size(spec, how.signal) };
  }

  /** Tries the credentials in order until one works; throws all failures when none does. */
  async #tryCredentials(
    { sandboxConfig }: ImageRequest,
    image: ImageSpec,
    { credentials, signal }: HowToPull,
  ): Promise<Pulled> {
    const { images, mayPull } = this.#deps;
    const config = sandboxConfig && { sandboxConfig };
    const options = signal && { signal };
    if (mayPull?.() === false) throw new Error('pull QPS exceeded');
    if (credentials.length === 0)
      return { imageRef: (await images.pullImage({ image, ...config }, options)).imageRef ?? '' };
    const failures: unknown[] = [];
    for (const used of credentials) {
      try {
        const { imageRef = '' } = await images.pullImage({ image, auth: used.auth, ...config }, options);
        return { imageRef, used };
      } catch (reason) {
        failures.push(reason);
      }
    }
    throw new Error(aggregate(failures.map(messageOf)), { cause: failures[0] });
  }

  /** Returns the image size for the event; 0 when the runtime does not answer. */
  async #size(image: ImageSpec, signal: AbortSignal | undefined): Promise<number> {
    const status = await this.#deps.images
      .imageStatus({ image }, signal && { signal })
      .catch(() => undefined);
    return status?.image?.size ?? 0;
  }
}

function fail(note: NoteEvent, event: string, reason: string, message: string): StartError {
  note('Warning', event, message);
  return new StartError(reason, message);
}

/** Converts a runtime error to a pull error. Follows `evalCRIPullErr`. */
function pullError(image: string, text: string, cause: unknown): StartError {
  for (const [prefix, why] of Object.entries(knownPullErrors))
    if (text.startsWith(prefix))
      return new StartError(
        prefix,
        `image pull failed for ${image} because ${why}${text.slice(prefix.length)}`,
        { cause },
      );
  return new StartError('ErrImagePull', text, { cause });
}
