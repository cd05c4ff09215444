/**
 * `npm run golden -- DIR [FAMILY…]`: replays a folder of recordings and says, per family, what passed and what did not.
 * Exit code 0 only when none failed and at least one ran.
 */
import { formatFailure, identify, recordingFiles, replayFile } from './harness.ts';

const [dir, ...families] = process.argv.slice(2);
if (dir === undefined || dir === '--help') {
  console.error(
    'usage: npm run golden -- DIR [FAMILY…]\n\nDIR holds recordings (*.jsonl.gz), or has the folders state-machines and functions.',
  );
  process.exit(dir === undefined ? 2 : 0);
}
let passed = 0;
let failed = 0;
for (const file of await recordingFiles(dir)) {
  const identity = await identify(file);
  if (!identity || (families.length > 0 && !families.includes(identity.family))) continue;
  const result = await replayFile(file);
  if (!result) continue;
  const name = `${result.kind}/${result.family}`.padEnd(44);
  if (result.skipped !== undefined) {
    console.log(`${name} skipped: ${result.skipped}`);
    continue;
  }
  passed += result.passed;
  failed += result.failed;
  console.log(`${name} ${result.passed} passed, ${result.failed} failed`);
  for (const failure of result.failures) console.log(formatFailure(failure));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
