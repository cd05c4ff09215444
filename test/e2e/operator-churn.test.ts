import { expect, test } from 'vitest';
import { operatorChurn } from '../support/operator-churn.ts';

test(
  'an operator that is killed at random converges: no child is doubled or lost',
  { timeout: 120_000 },
  async () => {
    const report = await operatorChurn(3);
    expect(report.faults).toEqual([]);
    expect(report.kills).toBe(3);
    expect(report.created).toBeGreaterThan(0);
  },
);
