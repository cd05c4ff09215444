import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiServerPlayer } from './api-server.ts';
import { readCases, transcriptFiles } from './transcript.ts';

const dir = process.env['GOLDEN_DIR'];

/** Families that are played without a difference; the others are counted by the command line tool. */
const exact = ['pods-delete'];

if (dir === undefined || dir === '') {
  test.skip('recorded requests: GOLDEN_DIR is not set, so there is nothing to play');
} else {
  const files = await transcriptFiles(join(dir, 'transcripts'));
  test.for(exact.filter((family) => files.has(family)))(
    '%s is answered as kube-apiserver answers',
    { timeout: 120_000 },
    async (family) => {
      for await (const one of readCases(files.get(family) ?? ''))
        expect(await apiServerPlayer.play(one), one.id).toEqual([]);
    },
  );
}
