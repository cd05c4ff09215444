// Prints the counts of the test runner's JSON reports as the closing line; fails when nothing ran or something failed. Takes the exit code of
// `npm run ok`.
import { again, countReports, groups, readReport } from '../scripts/test-reports.mjs';

const reports = groups.map(readReport).filter((report) => report !== undefined);
if (reports.length < groups.length) {
  console.log(`${groups.length - reports.length} of the ${groups.length} groups of tests wrote no report`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const { passed, skipped, faults } = countReports(reports, readReport(again));
// types, lint, the build, or an error outside of all tests
if (process.argv[2] !== '0' && faults.length === 0)
  faults.push(`npm run ok ended with ${process.argv[2]}, beside the tests: see above`);
for (const fault of faults) console.log(`failed: ${fault}`);
console.log(`${passed} passed, ${faults.length} failed, ${skipped} skipped`);
process.exit(passed > 0 && faults.length === 0 ? 0 : 1);
