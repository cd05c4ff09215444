/**
 * Mutation testing of the three rooms whose every line decides a pod's fate: `npm run mutation -- --mutate 'src/podworkers/*.ts'`. Without an
 * argument all three run, which takes the better part of an hour on two cores; results are kept in reports/ and only what changed is tried again.
 */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  plugins: ['@stryker-mutator/vitest-runner', '@stryker-mutator/typescript-checker'],
  // for --checkers typescript: what the compiler refuses is no survivor
  tsconfigFile: 'tsconfig.mutation.json',
  mutate: ['src/podworkers/**/*.ts', 'src/config/**/*.ts', '!src/config/node-files.ts', 'src/status/**/*.ts'],
  ignorePatterns: ['*', '!src/**', '!test/**', '!*.ts', '!*.json', '!*.mjs', 'reports', 'dist'],
  coverageAnalysis: 'perTest',
  // what is read when a file loads is judged by all tests, from the start of a run; with `testFiles` it would be switched on too late, and live
  ignoreStatic: false,
  concurrency: 1,
  // endless loops are counted; a busy machine is not to pass for one
  timeoutMS: 60_000,
  timeoutFactor: 2,
  incremental: true,
  incrementalFile: 'reports/mutation.json',
  tempDirName: '.stryker-tmp',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 85, break: 85 },
};
