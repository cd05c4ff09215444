import { describe, expect, it, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { conformance, providerClauses, runProviderClauses } from '../../src/conformance/index.ts';
import { memoryWorld } from './memory-world.ts';

describe('the memory provider keeps every law', () => {
  conformance(() => memoryWorld(), { describe, it });
});

test('every clause applies to the memory provider, and all are checked in under 20 s', async () => {
  const from = performance.now();
  const results = await runProviderClauses(() => memoryWorld());
  expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(results).toHaveLength(providerClauses.length);
  expect(performance.now() - from).toBeLessThan(20_000);
});

test('names are unique, and each law is one sentence with a rule', () => {
  expect(new Set(providerClauses.map(({ name }) => name)).size).toBe(providerClauses.length);
  for (const { law, rule } of providerClauses) {
    expect(law).toMatch(/^[A-Za-z].*\.$/);
    expect(rule).toMatch(/^R\d+$/);
  }
});

test('what a provider lacks makes clauses not applicable, by name; a focus selects', async () => {
  const make = () => {
    const { provider } = memoryWorld();
    return { provider, clock: new FakeClock() };
  };
  const results = await runProviderClauses(make, { focus: 'failed-listing' });
  expect(results).toMatchObject(
    [{ outcome: 'not applicable', detail: /calls that can be made to fail/ }].map((one) => ({
      ...one,
      detail: expect.stringMatching(one.detail) as string,
    })),
  );
});
