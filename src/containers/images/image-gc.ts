import { AgentError, messageOf } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { goDuration } from '../../kube/duration.ts';
import type { CallOptions, ImageService } from '../../provider/container-runtime.ts';
import type { Image } from '../../provider/cri-messages.ts';
import {
  diskNeed,
  formatSize,
  type ImageGcPolicy,
  inEvictionOrder,
  isOldEnough,
  isTooOld,
  type UnusedImage,
} from './image-gc-decide.ts';
import { aggregate } from '../container/runtime-errors.ts';

export interface ImageGcDeps {
  readonly images: Pick<ImageService, 'listImages' | 'removeImage'>;
  /** Returns the ids of images that containers, running or dead, were created from. */
  readonly imagesInUse: () => Promise<ReadonlySet<string>>;
  /** Returns the size of the image file system, bytes. */
  readonly imageFs: () => Promise<{ readonly capacity: number; readonly available: number }>;
  /** Records a Warning event about the node. */
  readonly warn: (reason: string, message: string) => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** Called for each removed image with the reason; for metrics. */
  readonly removed?: (why: 'age' | 'space') => void;
  /** Called after a collection with the ids of the remaining images and the time at which the collection began. */
  readonly afterCollect?: (left: ReadonlySet<string>, beganAt: number) => void;
}

/** When an image was first seen and last used, ms since the epoch; `-Infinity`: never. */
export interface ImageRecord {
  readonly firstSeenAt: number;
  readonly lastUsedAt: number;
}

/** ImageGc removes unused images when their disk fills up or they get too old. Follows `realImageGCManager` (pkg/kubelet/images). */
export class ImageGc {
  readonly #deps: ImageGcDeps;
  readonly #policy: ImageGcPolicy;
  readonly #startedAt: number;
  readonly #records: Map<string, ImageRecord>;

  /** @param records records of an earlier instance, by image id */
  constructor(
    deps: ImageGcDeps,
    policy: ImageGcPolicy,
    records: ReadonlyMap<string, ImageRecord> = new Map(),
  ) {
    this.#records = new Map(records);
    this.#deps = deps;
    this.#policy = policy;
    this.#startedAt = deps.clock.now();
  }

  /** Records which images exist and which are used, so that their ages are available when space is needed. */
  async detectImages(options?: CallOptions): Promise<void> {
    await this.#unused(options);
  }

  /**
   * Removes images that are too old; then, above the high threshold, the least recently used ones until the low threshold is reached.
   *
   * @throws {AgentError} `internal` with the kubelet's message when not enough space could be freed
   */
  async collect(options?: CallOptions): Promise<void> {
    const now = this.#deps.clock.now();
    try {
      await this.#collect(now, options);
    } finally {
      this.#deps.afterCollect?.(new Set(this.#records.keys()), now);
    }
  }

  async #collect(now: number, options?: CallOptions): Promise<void> {
    const { imageFs, warn, logger } = this.#deps;
    const left = await this.#removeOld(await this.#unused(options), now, options);
    const { capacity, available } = await imageFs();
    if (available > capacity)
      logger.warn('more is available than the image file system holds', { available, capacity });
    if (capacity === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      warn('InvalidDiskCapacity', message);
      throw new AgentError('internal', message);
    }
    const need = diskNeed(capacity, available, this.#policy);
    if (!need) return;
    const freed = await this.#free(left, need.bytesToFree, now, options);
    if (freed >= need.bytesToFree) return;
    const message = `Insufficient free disk space on the node's image filesystem (${need.usedPercent}% of ${formatSize(capacity)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    warn('FreeDiskSpaceFailed', message);
    throw new AgentError('internal', message);
  }

  /** Removes every unused image; called by eviction. */
  async deleteUnusedImages(options?: CallOptions): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#free(await this.#unused(options), Number.POSITIVE_INFINITY, now, options);
  }

  async #removeOld(
    images: UnusedImage[],
    now: number,
    options: CallOptions | undefined,
  ): Promise<UnusedImage[]> {
    if (now - this.#startedAt <= this.#policy.maxAgeMs) return images;
    const left: UnusedImage[] = [];
    const failures: string[] = [];
    for (const image of images) {
      if (!isTooOld(image, this.#policy, now)) {
        left.push(image);
        continue;
      }
      const failure = await this.#remove(image, 'age', options);
      if (failure !== undefined) failures.push(failure);
    }
    if (failures.length === 0) return left;
    const all = `wanted to free images older than ${goDuration(this.#policy.maxAgeMs)}, encountered errors in image deletion: ${aggregate(failures)}`;
    throw new AgentError('internal', all);
  }

  /** Removes images until enough is freed. @returns the freed bytes */
  async #free(
    images: readonly UnusedImage[],
    required: number,
    now: number,
    options: CallOptions | undefined,
  ): Promise<number> {
    let freed = 0;
    const failures: string[] = [];
    for (const image of images) {
      if (!isOldEnough(image, this.#policy, now)) continue;
      const failure = await this.#remove(image, 'space', options);
      if (failure !== undefined) {
        failures.push(failure);
        continue;
      }
      freed += image.bytes;
      if (freed >= required) break;
    }
    if (failures.length === 0) return freed;
    const bytes = required === Number.POSITIVE_INFINITY ? '9223372036854775807' : required;
    const all = `wanted to free ${bytes} bytes, but freed ${freed} bytes space with errors in image deletion: ${aggregate(failures)}`;
    throw new AgentError('internal', all);
  }

  /** Removes one image. @returns the error message when it could not be removed */
  async #remove(
    { id }: UnusedImage,
    why: 'age' | 'space',
    options: CallOptions | undefined,
  ): Promise<string | undefined> {
    try {
      await this.#deps.images.removeImage({ image: { image: id } }, options);
      this.#records.delete(id);
      this.#deps.removed?.(why);
      return undefined;
    } catch (reason) {
      this.#deps.logger.warn('image could not be removed', { image: id, err: messageOf(reason) });
      return messageOf(reason);
    }
  }

  async #unused(options: CallOptions | undefined): Promise<UnusedImage[]> {
    const [{ images = [] }, inUse] = await Promise.all([
      this.#deps.images.listImages({}, options),
      this.#deps.imagesInUse(),
    ]);
    this.#see(images, inUse);
    const unused = images.filter(({ id = '', pinned = false }) => !inUse.has(id) && !pinned);
    return inEvictionOrder(
      unused.map(({ id = '', size: bytes = 0 }) => ({ id, bytes, ...(this.#records.get(id) ?? unseen) })),
    );
  }

  #see(images: readonly Image[], inUse: ReadonlySet<string>): void {
    const now = this.#deps.clock.now();
    for (const { id = '' } of images) {
      const record = this.#records.get(id) ?? { firstSeenAt: now, lastUsedAt: Number.NEGATIVE_INFINITY };
      this.#records.set(id, inUse.has(id) ? { ...record, lastUsedAt: now } : record);
    }
    const present = new Set(images.map(({ id = '' }) => id));
    for (const id of this.#records.keys()) if (!present.has(id)) this.#records.delete(id);
  }
}

const unseen: ImageRecord = { firstSeenAt: Number.NEGATIVE_INFINITY, lastUsedAt: Number.NEGATIVE_INFINITY };
