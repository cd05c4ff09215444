import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { diskNeed, isOldEnough } from '../../../src/containers/images/image-gc-decide.ts';
import { ImageGc } from '../../../src/containers/images/image-gc.ts';

test('a collection ends with the old images that could not be removed, before it looks at the disk', async () => {
  const clock = new FakeClock(0);
  const asked: string[] = [];
  const gc = new ImageGc(
    {
      images: {
        listImages: async () => ({ images: [{ id: 'a' }, { id: 'b' }] }),
        removeImage: async ({ image }) => {
          asked.push(image?.image ?? '');
          if (image?.image === 'a') throw new Error('image is in use');
          return {};
        },
      },
      imagesInUse: async () => new Set<string>(),
      imageFs: async () => {
        throw new Error('not to be asked');
      },
      warn: () => undefined,
      clock,
      logger: silentLogger,
    },
    { minAgeMs: 0, maxAgeMs: 7_200_000, highThresholdPercent: 85, lowThresholdPercent: 80 },
  );
  await gc.detectImages();
  clock.set(7_200_001);
  await expect(gc.collect()).rejects.toThrow(
    'wanted to free images older than 2h0m0s, encountered errors in image deletion: image is in use',
  );
  expect(asked).toEqual(['a', 'b']);
});

test('when no image could be removed, the error has the kubelet’s number for an unlimited amount', async () => {
  const gc = new ImageGc(
    {
      images: {
        listImages: async () => ({ images: [{ id: 'a', size: 7 }, { id: 'b' }] }),
        removeImage: async ({ image }) => {
          if (image?.image === 'b') throw new Error('image is in use');
          return {};
        },
      },
      imagesInUse: async () => new Set<string>(),
      imageFs: async () => ({ capacity: 1, available: 1 }),
      warn: () => undefined,
      clock: new FakeClock(0),
      logger: silentLogger,
    },
    { minAgeMs: 0, maxAgeMs: 0, highThresholdPercent: 85, lowThresholdPercent: 80 },
  );
  await expect(gc.deleteUnusedImages()).rejects.toThrow(
    'wanted to free 9223372036854775807 bytes, but freed 7 bytes space with errors in image deletion: image is in use',
  );
});

const policy = { minAgeMs: 60_000, maxAgeMs: 0, highThresholdPercent: 85, lowThresholdPercent: 80 };

test('an image that was last used in the future, by a clock that was set back, does not go', () => {
  const image = { id: 'a', bytes: 1, firstSeenAt: 0, lastUsedAt: 100_000 };
  expect([100_000, 100_001].map((now) => isOldEnough(image, policy, now))).toEqual([false, true]);
});

test('a disk of more than 90 TB is counted to the byte', () => {
  // a byte less than 38 % is available
  const need = diskNeed(8_834_241_163_134_377, 3_357_011_641_991_063, {
    ...policy,
    highThresholdPercent: 63,
  });
  expect(need?.usedPercent).toBe(63);
  const low = { ...policy, lowThresholdPercent: 40 };
  expect(diskNeed(5_684_851_558_679_138, 0, low)?.bytesToFree).toBe(3_410_910_935_207_482);
});
