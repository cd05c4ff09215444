import { defineConfig } from 'vitest/config';

/**
 * Which tests judge a mutant (stryker.config.mjs): the unit tests of the mutated rooms and, where GOLDEN_DIR names recordings (better a sample of
 * them: each mutant is tried against all), their replay.
 */
export default defineConfig({
  test: {
    include: ['test/{podworkers,config,status}/**/*.test.ts', 'test/golden/golden.test.ts'],
    // real inotify and real sockets: too slow and too dependent on the machine to judge by
    exclude: ['test/config/node-files.test.ts'],
    // one worker for all files of a run, which is most of its cost
    isolate: false,
    testTimeout: 30_000,
    setupFiles: ['test/support/first-failure.ts'],
  },
});
