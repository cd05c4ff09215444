import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hugePagesIn } from '../../../src/containers/stats/machine-info.ts';

test('huge pages are those of each size that the kernel offers, also where none is set aside', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pt-huge-'));
  for (const [name, count] of [
    ['hugepages-2048kB', '8\n'],
    ['hugepages-1048576kB', '0\n'],
    ['other', '1\n'],
  ] as const) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, 'nr_hugepages'), count);
  }
  expect(await hugePagesIn(dir)).toEqual([
    { pageSizeKib: 1_048_576, count: 0 },
    { pageSizeKib: 2048, count: 8 },
  ]);
  expect(await hugePagesIn(join(dir, 'none'))).toEqual([]);
  rmSync(dir, { recursive: true });
});
