import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { goQuote } from '../kube/go-quote.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod, Secret } from '../kube/types.ts';
import type { ImageService } from '../provider/container-runtime.ts';
import type { AuthConfig, ImageSpec, PodSandboxConfig } from '../provider/cri-messages.ts';
import { type BackoffTable, goDuration } from './backoff.ts';
import { withDefaultTag } from './image-reference.ts';
import { type ImageUser, imageUserOf } from './run-as-non-root.ts';
import type { PullQueue } from './pull-queue.ts';
import { aggregate, StartError } from './runtime-errors.ts';

/** The credentials to try for an image, best first; none: pull without. */
export type Keyring = (
  image: string,
  secrets: readonly Secret[],
  pod: Pod,
) => Promise<readonly AuthConfig[]> | readonly AuthConfig[];

/** Notes an event about one container. */
export type NoteEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

export interface ImageManagerDeps {
  readonly images: ImageService;
  readonly backoff: BackoffTable;
  readonly clock: Pick<Clock, 'now'>;
  readonly queue: PullQueue;
  readonly keyring: Keyring;
}

/** What image a container (or image volume) wants. */
export interface ImageRequest {
  readonly pod: Pod;
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly policy: string | undefined;
  readonly secrets: readonly Secret[];
  readonly sandboxConfig?: PodSandboxConfig;
  readonly runtimeHandler?: string;
}

/** Prefixes of pull errors that the runtime may give, and how they read to users. */
const knownPullErrors: Readonly<Record<string, string>> = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
};

/**
 * Makes images present: looks, pulls where the policy wants it, and backs off per pod and image after a failed pull.
 * Follows `imageManager.EnsureImageExists` (pkg/kubelet/images).
 */
export class ImageManager {
  readonly #deps: ImageManagerDeps;
  /** Why the last pull of a key failed; shown while it backs off. */
  readonly #lastFailure = new Map<string, string>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
  }

  /**
   * @returns the reference that containers are created from, and what was said when no pull was needed
   * @throws {StartError} with one of the image reasons of R181
   */
  async ensureImageExists(
    request: ImageRequest,
    note: NoteEvent,
    signal?: AbortSignal,
  ): Promise<{ readonly imageRef: string; readonly message: string }> {
    const spec = this.#spec(request, note);
    if (request.policy === 'IfNotPresent' || request.policy === 'Never') {
      const imageRef = await this.#present(spec, note, signal);
      if (imageRef !== '') {
        const message = `Container image ${goQuote(request.image)} already present on machine and can be accessed by the pod`;
        note('Normal', 'Pulled', message);
        return { imageRef, message };
      }
      if (request.policy === 'Never') {
        const message = `Container image ${goQuote(request.image)} is not present with pull policy of Never`;
        throw fail(note, 'ErrImageNeverPull', 'ErrImageNeverPull', message);
      }
    }
    return { imageRef: await this.#pull(request, spec, note, signal), message: '' };
  }

  /**
   * The user that a pulled image runs as.
   *
   * @param imageRef as told by {@link ensureImageExists}
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

  async #present(image: ImageSpec, note: NoteEvent, signal: AbortSignal | undefined): Promise<string> {
    try {
      const { image: found } = await this.#deps.images.imageStatus({ image }, signal && { signal });
      return found?.id ?? '';
    } catch (reason) {
      // the kubelet prints the reference that it did not get, which is empty
      throw fail(
        note,
        'InspectFailed',
        'ImageInspectError',
        `Failed to inspect image "": ${messageOf(reason)}`,
      );
    }
  }

  async #pull(
    request: ImageRequest,
    spec: ImageSpec,
    note: NoteEvent,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { backoff, clock, queue } = this.#deps;
    const { image } = request;
    const key = `${uidOf(request.pod)}_${spec.image ?? ''}`;
    if (backoff.isInBackOffSinceUpdate(key, clock.now())) {
      const message = `Back-off pulling image ${goQuote(image)}`;
      note('Normal', 'BackOff', message);
      const before = this.#lastFailure.get(key);
      throw new StartError('ImagePullBackOff', before === undefined ? message : `${message}: ${before}`);
    }
    this.#lastFailure.delete(key);
    note('Normal', 'Pulling', `Pulling image ${goQuote(image)}`);
    const askedAt = clock.now();
    try {
      const { imageRef, pullMs, bytes } = await queue.run(() => this.#pullNow(request, spec, signal));
      const total = goDuration(Math.floor(clock.now() - askedAt));
      note(
        'Normal',
        'Pulled',
        `Successfully pulled image ${goQuote(image)} in ${goDuration(pullMs)} (${total} including waiting). Image size: ${bytes} bytes.`,
      );
      backoff.gc();
      return imageRef;
    } catch (reason) {
      note('Warning', 'Failed', `Failed to pull image ${goQuote(image)}: ${messageOf(reason)}`);
      backoff.next(key, clock.now());
      const error = pullError(image, messageOf(reason), reason);
      this.#lastFailure.set(key, `${error.reason}: ${error.message}`);
      throw error;
    }
  }

  async #pullNow(
    request: ImageRequest,
    spec: ImageSpec,
    signal: AbortSignal | undefined,
  ): Promise<{ imageRef: string; pullMs: number; bytes: number }> {
    const { clock } = this.#deps;
    const startedAt = clock.now();
    const imageRef = await this.#tryCredentials(request, spec, signal);
    const pullMs = Math.floor(clock.now() - startedAt);
    return { imageRef, pullMs, bytes: await this.#size(spec, signal) };
  }

  /** One credential after the other; the first that works wins, else all failures are told. */
  async #tryCredentials(
    { pod, secrets, sandboxConfig }: ImageRequest,
    image: ImageSpec,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { images, keyring } = this.#deps;
    const config = sandboxConfig && { sandboxConfig };
    const options = signal && { signal };
    const credentials = await keyring(image.image ?? '', secrets, pod);
    if (credentials.length === 0)
      return (await images.pullImage({ image, ...config }, options)).imageRef ?? '';
    const failures: unknown[] = [];
    for (const auth of credentials) {
      try {
        return (await images.pullImage({ image, auth, ...config }, options)).imageRef ?? '';
      } catch (reason) {
        failures.push(reason);
      }
    }
    throw new Error(aggregate(failures.map(messageOf)), { cause: failures[0] });
  }

  /** For the event alone: no answer counts as 0. */
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

/** Follows `evalCRIPullErr`. */
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
