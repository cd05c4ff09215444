import { silentLogger } from '../../../src/base/logger.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { ImageGc } from '../../../src/containers/images/image-gc.ts';
import { formatSize, sortForNodeStatus } from '../../../src/containers/images/image-gc-decide.ts';
import { check, type Replay } from '../harness.ts';

interface RecordedImage {
  readonly id: string;
  readonly size: number;
  readonly pinned: boolean;
  readonly detectedSecondsAgo: number;
  readonly lastUsedSecondsAgo: number | null;
  readonly inUse: boolean;
}

interface Input {
  readonly op: 'gc' | 'all' | 'sortForNodeStatus' | 'formatSize';
  readonly bytes: number;
  readonly capacity: number;
  readonly available: number;
  readonly images: readonly RecordedImage[] | null;
  readonly policy: {
    readonly high: number;
    readonly low: number;
    readonly minAgeSeconds: number;
    readonly maxAgeSeconds: number;
  };
}

const startedSecondsAgo = 30 * 86_400;

export const replay: Replay = async ({ in: given, out }) => {
  const input = given as Input;
  if (input.op === 'formatSize') return check(out, formatSize(input.bytes), { operation: input });
  if (input.op === 'sortForNodeStatus') {
    const images = (given as { images: { ID: string; Size: number }[] }).images;
    const sorted = sortForNodeStatus(images.map(({ ID, Size }) => ({ id: ID, bytes: Size })));
    return check(
      out,
      sorted.map(({ id }) => id),
      { operation: input },
    );
  }
  return check(out, await collect(input), { operation: input });
};

async function collect(input: Input): Promise<unknown> {
  const images = input.images ?? [];
  const now = Date.parse('2026-03-04T05:06:07Z');
  const before = (seconds: number): number => now - seconds * 1000;
  const clock = new FakeClock(before(startedSecondsAgo));
  const removed: string[] = [];
  const known = new Map(
    images.map(({ id, detectedSecondsAgo: seen, lastUsedSecondsAgo: used }) => [
      id,
      { firstSeenAt: before(seen), lastUsedAt: used === null ? Number.NEGATIVE_INFINITY : before(used) },
    ]),
  );
  const deps = {
    images: {
      listImages: async () => ({ images }),
      removeImage: async ({ image }: { image?: { image?: string } }) => {
        removed.push(image?.image ?? '');
        return {};
      },
    },
    imagesInUse: async () => new Set(images.filter(({ inUse }) => inUse).map(({ id }) => id)),
    imageFs: async () => ({ capacity: input.capacity, available: input.available }),
    warn: () => undefined,
    clock,
    logger: silentLogger,
  };
  const policy = {
    highThresholdPercent: input.policy.high,
    lowThresholdPercent: input.policy.low,
    minAgeMs: input.policy.minAgeSeconds * 1000,
    maxAgeMs: input.policy.maxAgeSeconds * 1000,
  };
  const gc = new ImageGc(deps, policy, known);
  clock.set(now);
  const done = input.op === 'gc' ? gc.collect() : gc.deleteUnusedImages();
  const error = await done.then(() => null, messageOf);
  return { error, removed };
}
