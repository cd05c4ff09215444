import { defineConfig } from 'vitest/config';

const ci = process.env['CI'] !== undefined;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    // one that fails and then passes is printed as retried: its cause is to be found, but it does not end the whole check
    retry: ci ? 2 : 0,
    pool: 'forks',
    // the closing line of .ci/run is taken from the JSON report
    reporters: ci ? ['default', 'json'] : ['default'],
    ...(ci && { outputFile: { json: 'reports/tests.json' } }),
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/provider/cri-messages.ts', 'src/providers/cri/gen/**'],
      reporter: ['text-summary', 'json-summary'],
    },
  },
});
