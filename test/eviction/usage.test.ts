import { expect, test } from 'vitest';
import { podDiskUsage } from '../../src/eviction/usage.ts';
import { formatQuantity } from '../../src/kube/resources/quantity.ts';

test('the volumes of a pod with thousands of them are added up without a search for each', () => {
  let reads = 0;
  const count = 2000;
  const names = Array.from({ length: count }, (_, i) => `v${i}`);
  const volume = names.map((name) => ({
    usedBytes: 1,
    get name() {
      reads++;
      return name;
    },
  }));
  const pod = { spec: { containers: [], volumes: names.map((name) => ({ name, emptyDir: {} })) } };
  const stats = { podRef: { name: 'web', namespace: 'default', uid: 'u' }, volume };
  const used = podDiskUsage(pod, stats, new Set(['localVolumes'] as const), 'ephemeral-storage');
  expect(formatQuantity(used)).toBe(`${count}`);
  expect(reads).toBeLessThan(4 * count);
});
