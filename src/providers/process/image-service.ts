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

/** The id of an image here: its name, since nothing is stored. */
export function imageIdOf(reference: string): string {
  return `host:${reference}`;
}

/**
 * Images of a provider that has none: a name is all there is, so every image is there already and a pull has nothing to do.
 * Whether a container can run with its image is decided by its command: at admission, and again when it is started.
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
    const wanted = request.filter?.image?.image;
    const names = new Set([...this.#table.keys(), ...this.#seen]);
    return {
      images: [...names]
        .filter((name) => wanted === undefined || wanted === '' || wanted === name)
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

  /** Never collected: `pinned`. The user is the agent's, since that is who runs it. */
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

/** A reference or an id that {@link imageIdOf} gave. */
function nameOf(reference: string | undefined): string {
  const name = (reference ?? '').replace(/^host:/, '');
  if (name === '') throw new AgentError('invalid_argument', 'an image needs a name');
  return name;
}
