import { statfsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { CallOptions, ImageService } from '../../provider/container-runtime.ts';
import type * as cri from '../../provider/cri-messages.ts';
import type { ImagesInUse, ImageStore, StoredImage } from './store.ts';

/** Pulls an image. @returns the image in the store */
export type PullImage = (reference: string, options: PullOptions) => Promise<StoredImage>;

/** How one image is pulled. */
export interface PullOptions {
  readonly auth?: cri.AuthConfig;
  readonly signal?: AbortSignal;
  /** Receives what happens. */
  readonly onProgress?: (progress: PullProgress) => void;
}

/** A step of a pull. */
export type PullProgress =
  | { readonly type: 'resolved'; readonly digest: string; readonly blobs: readonly PullBlob[] }
  /** Some bytes of a blob are there. */
  | { readonly type: 'blob'; readonly digest: string; readonly bytes: number; readonly size: number }
  /** A layer is being unpacked; layers count from 1. */
  | { readonly type: 'unpack'; readonly layer: number; readonly layers: number };

/** A blob of an image that is pulled. */
export interface PullBlob {
  readonly digest: string;
  /** bytes */
  readonly size: number;
  /** True when the store has it already. */
  readonly present: boolean;
}

/** Dependencies of OciImageService. */
export interface OciImageServiceDeps {
  readonly store: ImageStore;
  readonly clock: Clock;
  readonly pull: PullImage;
  readonly inUse: ImagesInUse;
}

/** OciImageService is the image service of CRI over an {@link ImageStore}. */
export class OciImageService implements ImageService {
  readonly #deps: OciImageServiceDeps;

  constructor(deps: OciImageServiceDeps) {
    this.#deps = deps;
  }

  async listImages({ filter }: cri.ListImagesRequest): Promise<cri.ListImagesResponse> {
    const { store } = this.#deps;
    const reference = filter?.image?.image ?? '';
    const found = reference === '' ? store.list() : [store.find(reference)];
    return { images: found.flatMap((image) => (image ? [this.#toImage(image)] : [])) };
  }

  async imageStatus({ image }: cri.ImageStatusRequest): Promise<cri.ImageStatusResponse> {
    const found = this.#deps.store.find(named(image));
    return found ? { image: this.#toImage(found) } : {};
  }

  async pullImage(
    { image, auth }: cri.PullImageRequest,
    { signal }: CallOptions = {},
  ): Promise<cri.PullImageResponse> {
    try {
      const { id } = await this.#deps.pull(named(image), {
        ...(auth && { auth }),
        ...(signal && { signal }),
      });
      return { imageRef: id };
    } catch (reason) {
      signal?.throwIfAborted();
      throw pullFailure(reason);
    }
  }

  async removeImage(
    { image }: cri.RemoveImageRequest,
    { signal }: CallOptions = {},
  ): Promise<cri.RemoveImageResponse> {
    await this.#deps.store.remove(named(image), this.#deps.inUse, signal);
    return {};
  }

  async imageFsInfo(): Promise<cri.ImageFsInfoResponse> {
    const { store, clock } = this.#deps;
    const stats = statfsSync(store.dir);
    const usage = {
      timestamp: clock.now() * 1e6,
      fsId: { mountpoint: store.dir },
      usedBytes: { value: (stats.blocks - stats.bfree) * stats.bsize },
      inodesUsed: { value: stats.files - stats.ffree },
    };
    return { imageFilesystems: [usage], containerFilesystems: [usage] };
  }

  #toImage(image: StoredImage): cri.Image {
    const user = (this.#deps.store.config(image).run.User ?? '').split(':')[0] ?? '';
    const isNumber = /^\d+$/.test(user);
    return {
      id: image.id,
      repoTags: image.tags,
      repoDigests: image.digests,
      size: image.size,
      ...(isNumber || user === '' ? { uid: { value: Number(user) } } : { username: user }),
      pinned: false,
    };
  }
}

/** Returns the failure of a pull; that of an unavailable registry has the name by which the kubelet knows it. */
function pullFailure(reason: unknown): unknown {
  if (!(reason instanceof AgentError) || reason.code !== 'unavailable') return reason;
  return new AgentError('unavailable', `RegistryUnavailable: ${reason.message}`, { cause: reason });
}

function named(image: cri.ImageSpec | undefined): string {
  if (image?.image !== undefined && image.image !== '') return image.image;
  throw new AgentError('invalid_argument', 'an image needs a name');
}
