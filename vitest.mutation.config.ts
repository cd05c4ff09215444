import { defineConfig } from 'vitest/config';

/** Which tests judge a mutant (stryker.config.mjs): the unit tests of the mutated rooms, and no others. */
export default defineConfig({
  test: {
    include: ['test/{podworkers,config,status}/**/*.test.ts'],
    // real inotify and real sockets: too slow and too dependent on the machine to judge by
    exclude: ['test/config/node-files.test.ts'],
    testTimeout: 30_000,
    setupFiles: ['test/support/first-failure.ts'],
  },
});
