import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { ImageGc } from '../../src/kuberuntime/image-gc.ts';

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
