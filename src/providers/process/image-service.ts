import { statfsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { ImageService } from '../../provider/container-runtime.ts';
import type {
  Image,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListImagesRequest,
  ListImagesResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveImageRequest,
  RemoveImageResponse,
} from '../../provider/cri-messages.ts';
import { AgentError } from '../../base/errors.ts';
import type { HostImage } from './images.ts';

/** Returns the id of an image: its name, as no image is stored. */
export function imageIdOf(reference: string): string {
  return `host:${reference}`;
}

/**
 * HostImageService is the image service of a provider without images: every image name counts as present, and a pull does nothing.
 * Whether a container can run with its image depends on its command, which is checked at admission and again at its start.
 */
export class HostImageService implements ImageService {
  readonly #table: ReadonlyMap<string, HostImage>;
  readonly #dataDir: string;
  readonly #clock: Clock;
  readonly #uid: number;
  readonly #seen = new Set<string>();

  constructor(deps: {
    readonly table: ReadonlyMap<string, HostImage>;
    readonly dataDir: string;
    readonly clock: Clock;
    readonly uid: number;
  }) {
    this.#table = deps.table;
    this.#dataDir = deps.dataDir;
    this.#clock = deps.clock;
    this.#uid = deps.uid;
  }

  async listImages(request: ListImagesRequest): Promise<ListImagesResponse> {
    const filter = request.filter?.image?.image;
    const names = new Set([...this.#table.keys(), ...this.#seen]);
    return {
      images: [...names]
        .filter((name) => filter === undefined || filter === '' || filter === name)
        .map((name) => this.#image(name)),
    };
  }

  async imageStatus(request: ImageStatusRequest): Promise<ImageStatusResponse> {
    const name = nameOf(request.image?.image);
    this.#seen.add(name);
    return { image: this.#image(name) };
  }

  async pullImage(request: PullImageRequest): Promise<PullImageResponse> {
    const name = nameOf(request.image?.image);
    this.#seen.add(name);
    return { imageRef: imageIdOf(name) };
  }

  async removeImage(request: RemoveImageRequest): Promise<RemoveImageResponse> {
    this.#seen.delete(nameOf(request.image?.image));
    return {};
  }

  async imageFsInfo(): Promise<ImageFsInfoResponse> {
    const stats = statfsSync(this.#dataDir);
    const usage = {
      timestamp: this.#clock.now() * 1e6,
      fsId: { mountpoint: this.#dataDir },
      usedBytes: { value: (stats.blocks - stats.bfree) * stats.bsize },
      inodesUsed: { value: stats.files - stats.ffree },
    };
    return { imageFilesystems: [usage], containerFilesystems: [usage] };
  }

  /** The image is `pinned`, so it is never collected. Its user is the agent's, as whom it runs. */
  #image(name: string): Image {
    return {
      id: imageIdOf(name),
      repoTags: [name],
      repoDigests: [],
      size: 0,
      uid: { value: this.#uid },
      username: '',
      spec: { image: name },
      pinned: true,
    };
  }
}

/** Returns the name for a reference or an id from {@link imageIdOf}. */
function nameOf(reference: string | undefined): string {
  const name = (reference ?? '').replace(/^host:/, '');
  if (name === '') throw new AgentError('invalid_argument', 'an image needs a name');
  return name;
}
