import { expect, test } from 'vitest';
import { faults } from '../../support/chaos-proxy.ts';
import { soak } from '../../support/soak.ts';

test(
  'whatever happens on the way, caches and handlers end up equal to the server',
  { timeout: 60_000 },
  async () => {
    const lines: string[] = [];
    const result = await soak({ seconds: 0, objects: 1000, seed: 42, log: (line) => lines.push(line) }).catch(
      (reason: unknown) => {
        throw new Error(lines.join('\n'), { cause: reason });
      },
    );
    expect(result.rounds).toBe(faults.length);
    expect(Object.values(result.injected).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(20);
  },
);
