import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const ci = process.env['CI'] !== undefined;

export default defineConfig({
  test: {
    // a check runs both groups at once on two processors: what only waits gets more time there
    testTimeout: ci ? 60_000 : 30_000,
    hookTimeout: 60_000,
    // Two groups, one after the other: tests in processes of their own, as many at once as there are processors; then those that start the
    // command and real parts, which share the machine's ports, cgroups and container runtime.
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // one that fails and then passes is printed as retried: its cause is to be found, but it does not end the whole check
    retry: ci ? 2 : 0,
    pool: 'forks',
    // the closing line of .ci/run is taken from the JSON report
    reporters: ci ? ['default', 'json'] : ['default'],
    ...(ci && { outputFile: { json: 'reports/tests.json' } }), // scripts/ok.mjs names others
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/provider/cri-messages.ts', 'src/providers/cri/gen/**'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
});
