/** Policy of image garbage collection; kubelet's `ImageGCPolicy`. */
export interface ImageGcPolicy {
  /** Disk usage in percent at which images are removed … */
  readonly highThresholdPercent: number;
  /** … until the usage is below this value, percent. */
  readonly lowThresholdPercent: number;
  /** Images first seen less than this time ago are kept, ms. */
  readonly minAgeMs: number;
  /** Images unused for longer than this are removed whatever the disk usage, ms; 0: never. */
  readonly maxAgeMs: number;
}

/** An image that no container uses and that is not pinned. */
export interface UnusedImage {
  readonly id: string;
  readonly bytes: number;
  /** ms since the epoch */
  readonly firstSeenAt: number;
  /** ms since the epoch; `-Infinity`: not used since it was first seen */
  readonly lastUsedAt: number;
}

/** Sorts images by eviction order: least recently used first, then first seen first (`byLastUsedAndDetected`). */
export const inEvictionOrder = <T extends UnusedImage>(images: readonly T[]): T[] =>
  images.toSorted((a, b) => order(a.lastUsedAt, b.lastUsedAt) || order(a.firstSeenAt, b.firstSeenAt));

const order = (a: number | string, b: number | string): number => (a === b ? 0 : a < b ? -1 : 1);

/** True when an image is unused for longer than `maxAgeMs`; always false until the agent has run for that long. */
export const isTooOld = ({ lastUsedAt }: UnusedImage, { maxAgeMs }: ImageGcPolicy, now: number): boolean =>
  maxAgeMs > 0 && now - lastUsedAt > maxAgeMs;

/**
 * True when an image may be removed to free space; false when it was used at or after `now` (a clock may be set back), or first seen too
 * recently.
 */
export const isOldEnough = (
  { firstSeenAt, lastUsedAt }: UnusedImage,
  { minAgeMs }: ImageGcPolicy,
  now: number,
): boolean => lastUsedAt < now && now - firstSeenAt >= minAgeMs;

/** Usage of the image file system, and the bytes to free. */
export interface DiskNeed {
  readonly usedPercent: number;
  readonly bytesToFree: number;
}

/** Returns the bytes to free; `undefined` below the threshold. An available amount above the capacity counts as the capacity. */
export function diskNeed(
  capacity: number,
  availableBytes: number,
  policy: ImageGcPolicy,
): DiskNeed | undefined {
  const available = Math.min(availableBytes, capacity);
  const usedPercent = 100 - scaled(available, 100, capacity);
  if (usedPercent < policy.highThresholdPercent) return undefined;
  const required = scaled(capacity, 100 - policy.lowThresholdPercent, 100);
  return { usedPercent, bytesToFree: required - available };
}

/** Integer arithmetic that stays exact above 90 TB. */
const scaled = (bytes: number, times: number, over: number): number =>
  Number((BigInt(Math.trunc(bytes)) * BigInt(times)) / BigInt(Math.trunc(over)));

/** Sorts images as in the node's status: largest first (`ByImageSize`). */
export const sortForNodeStatus = <T extends { readonly id: string; readonly bytes: number }>(
  images: readonly T[],
): T[] => images.toSorted((a, b) => b.bytes - a.bytes || order(b.id, a.id));

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a size in human-readable form: `512 B`, `1.5 GiB`. */
export function formatSize(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : tenths(size)} ${units[unit] ?? 'B'}`;
}

/** Rounds to one decimal, halves to even as Go does (`toFixed` rounds them up). */
const tenths = (size: number): string => (size % 1 === 0.25 ? size - 0.05 : size).toFixed(1);
