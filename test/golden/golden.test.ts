import { expect, test } from 'vitest';
import { formatFailure, identify, recordingFiles, replayFile } from './harness.ts';

const dir = process.env['GOLDEN_DIR'];

if (dir === undefined || dir === '') {
  test.skip('recordings of the Go kubelet: GOLDEN_DIR is not set, so there is nothing to replay');
} else {
  const files = await recordingFiles(dir);
  const known = (
    await Promise.all(files.map(async (file) => ({ file, identity: await identify(file) })))
  ).filter(({ identity }) => identity);

  test.for(known)(
    '$identity.kind/$identity.family equals the Go kubelet',
    { timeout: 300_000 },
    async ({ file }, { skip }) => {
      const result = await replayFile(file, 3);
      if (result?.skipped !== undefined) skip(result.skipped);
      expect(result?.failures.map((failure) => formatFailure(failure)).join('\n')).toBe('');
      expect(result?.passed).toBeGreaterThan(0);
    },
  );
}
