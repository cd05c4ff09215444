// Prints the counts of the test runner's JSON report as the closing line; fails when nothing ran or something failed.
import { existsSync, readFileSync } from 'node:fs';

const file = new URL('../reports/tests.json', import.meta.url);
if (!existsSync(file)) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const {
  numPassedTests: passed,
  numFailedTests: failed,
  numFailedTestSuites: suites,
  numPendingTests: skipped,
  testResults,
} = JSON.parse(readFileSync(file, 'utf8'));
for (const suite of testResults)
  for (const test of suite.assertionResults)
    if (test.status === 'failed') console.log(`failed: ${suite.name} > ${test.fullName}`);
// a suite that could not even be loaded has no failed tests of its own
const broken = testResults.filter(
  (suite) => suite.status === 'failed' && suite.assertionResults.length === 0,
).length;
console.log(`${passed} passed, ${failed + broken} failed, ${skipped} skipped`);
process.exit(passed > 0 && failed + broken === 0 && suites >= 0 ? 0 : 1);
