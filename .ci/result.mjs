// Prints the counts of the test runner's three JSON reports as the closing line; fails when nothing ran or something failed. Takes the exit code of
// `npm run ok`.
import { existsSync, readFileSync } from 'node:fs';

const names = ['rooms', 'e2e', 'e2e-apart'];
const reports = names
  .map((name) => new URL(`../reports/${name}.json`, import.meta.url))
  .filter((file) => existsSync(file))
  .map((file) => JSON.parse(readFileSync(file, 'utf8')));
if (reports.length < names.length) {
  console.log(`${names.length - reports.length} of the three groups of tests wrote no report`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const sum = (count) => reports.reduce((total, report) => total + count(report), 0);
const passed = sum((report) => report.numPassedTests);
const failed = sum((report) => report.numFailedTests);
const skipped = sum((report) => report.numPendingTests);
const testResults = reports.flatMap((report) => report.testResults);
const failedTests = (suite) => suite.assertionResults.filter(({ status }) => status === 'failed');
for (const suite of testResults)
  for (const test of failedTests(suite)) console.log(`failed: ${suite.name} > ${test.fullName}`);
// a suite that could not be loaded, or a hook of it, has no failed tests of its own
const broken = testResults.filter((suite) => suite.status === 'failed' && failedTests(suite).length === 0);
for (const { name } of broken) console.log(`failed: ${name}, while it was loaded or in a hook: see above`);
// types, lint, the build, or an error outside of all tests
const beside = process.argv[2] === '0' || failed + broken.length > 0 ? 0 : 1;
if (beside > 0) console.log(`failed: npm run ok ended with ${process.argv[2]}, beside the tests: see above`);
const faults = failed + broken.length + beside;
console.log(`${passed} passed, ${faults} failed, ${skipped} skipped`);
process.exit(passed > 0 && faults === 0 ? 0 : 1);
