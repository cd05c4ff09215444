// The JSON reports of the test runner, as scripts/ok.mjs has them written and .ci/result.mjs counts them.
import { existsSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** The groups of tests, each with a report of its own. */
export const groups = ['rooms', 'e2e', 'e2e-apart'];

/** The report of the files that ran once more, alone. */
export const again = 'again';

const fileOf = (name) => new URL(`../reports/${name}.json`, import.meta.url);

/** Reads one report. @returns undefined when the group wrote none */
export const readReport = (name) =>
  existsSync(fileOf(name)) ? JSON.parse(readFileSync(fileOf(name), 'utf8')) : undefined;

const failed = ({ status }) => status === 'failed';

/** The files of a report in which a test or a hook failed, or that could not be loaded. */
export const failedFiles = (report) => report.testResults.filter(failed).map(({ name }) => name);

/** The files of a report in which nothing failed. */
export const passedFiles = (report) =>
  report.testResults.filter((file) => !failed(file)).map(({ name }) => name);

/** The files that the runner's output names as the origin of errors outside of all tests. */
export const filesOfStrayErrors = (output) =>
  [...stripVTControlCharacters(output).matchAll(/originated in "([^"]+)" test file/g)].map(
    ([, name]) => name,
  );

/** Counts reports; a file of `later` counts instead of the same file of an earlier report. @returns the counts, and a line for each fault */
export function countReports(reports, later) {
  const replaced = new Map(later?.testResults.map((file) => [file.name, file]));
  const files = reports
    .flatMap(({ testResults }) => testResults)
    .map((file) => replaced.get(file.name) ?? file);
  const count = (...states) =>
    files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => states.includes(status))
      .length;
  const faults = files.flatMap((file) => {
    const tests = file.assertionResults.filter(failed).map(({ fullName }) => `${file.name} > ${fullName}`);
    return failed(file) && tests.length === 0
      ? [`${file.name}, while it was loaded or in a hook: see above`]
      : tests;
  });
  return { passed: count('passed'), skipped: count('skipped', 'pending', 'todo'), faults };
}
