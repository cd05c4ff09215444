/** When images are collected. Kubelet's `ImageGCPolicy`. */
export interface ImageGcPolicy {
  /** Use of the image file system, percent, from which images go … */
  readonly highThresholdPercent: number;
  /** … until it is down to this. */
  readonly lowThresholdPercent: number;
  /** Younger images stay, ms since they were first seen. */
  readonly minAgeMs: number;
  /** Images unused for longer go whatever the use, ms; 0: never. */
  readonly maxAgeMs: number;
}

/** An image that no container uses and that is not pinned. */
export interface UnusedImage {
  readonly id: string;
  readonly bytes: number;
  /** ms since the epoch */
  readonly firstSeenAt: number;
  /** ms since the epoch; `-Infinity`: never used since it was first seen */
  readonly lastUsedAt: number;
}

/** Longest unused first, then longest known (`byLastUsedAndDetected`). */
export const inEvictionOrder = <T extends UnusedImage>(images: readonly T[]): T[] =>
  images.toSorted((a, b) => order(a.lastUsedAt, b.lastUsedAt) || order(a.firstSeenAt, b.firstSeenAt));

const order = (a: number | string, b: number | string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Whether an image goes for its age alone; never while the agent runs for less than that age. */
export const isTooOld = ({ lastUsedAt }: UnusedImage, { maxAgeMs }: ImageGcPolicy, now: number): boolean =>
  maxAgeMs > 0 && now - lastUsedAt > maxAgeMs;

/** Whether an image may go to make room: not while it was last used just now, or later by a clock that was set back. */
export const isOldEnough = (
  { firstSeenAt, lastUsedAt }: UnusedImage,
  { minAgeMs }: ImageGcPolicy,
  now: number,
): boolean => lastUsedAt < now && now - firstSeenAt >= minAgeMs;

/** How full the image file system is, and how much has to go. */
export interface DiskNeed {
  readonly usedPercent: number;
  readonly bytesToFree: number;
}

/** `undefined`: below the threshold. More available than there is counts as all. */
export function diskNeed(
  capacity: number,
  availableBytes: number,
  policy: ImageGcPolicy,
): DiskNeed | undefined {
  const available = Math.min(availableBytes, capacity);
  const usedPercent = 100 - scaled(available, 100, capacity);
  if (usedPercent < policy.highThresholdPercent) return undefined;
  const wanted = scaled(capacity, 100 - policy.lowThresholdPercent, 100);
  return { usedPercent, bytesToFree: wanted - available };
}

/** Whole numbers, exact beyond 90 TB too. */
const scaled = (bytes: number, times: number, over: number): number =>
  Number((BigInt(Math.trunc(bytes)) * BigInt(times)) / BigInt(Math.trunc(over)));

/** Images as the node's status lists them: largest first (`ByImageSize`). */
export const sortForNodeStatus = <T extends { readonly id: string; readonly bytes: number }>(
  images: readonly T[],
): T[] => images.toSorted((a, b) => b.bytes - a.bytes || order(b.id, a.id));

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size for people: `512 B`, `1.5 GiB`. */
export function formatSize(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : tenths(size)} ${units[unit] ?? 'B'}`;
}

/** One digit behind the point; halfway, the even one, as Go prints (`toFixed` takes the larger). */
const tenths = (size: number): string => (size % 1 === 0.25 ? size - 0.05 : size).toFixed(1);
