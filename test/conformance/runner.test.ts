import { describe, expect, it, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import {
  type Behaviour,
  conformance,
  providerClauses,
  runProviderClauses,
} from '../../src/conformance/index.ts';
import type { Pod } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { memoryWorld } from './memory-world.ts';

describe('the memory provider keeps every law', () => {
  conformance(() => memoryWorld(), { describe, it });
});

test('the memory provider lacks commands, restarts by probes and a health; all else is checked in under 20 s', async () => {
  const from = performance.now();
  const results = await runProviderClauses(() => memoryWorld());
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  const missing = results.flatMap(({ detail }) => detail?.split(':')[0] ?? []);
  expect([...new Set(missing)].sort()).toEqual([
    ...['agent', 'commands', 'portForward', 'runtimeHealth', 'serve', 'useProbes'],
  ]);
  expect(results.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(55);
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

test('a provider itself is checked in real time, shared by all clauses', { timeout: 60_000 }, async () => {
  const provider = new MemoryProvider({ clock: systemClock });
  for (const focus of ['starts-once', 'kill-stops-everything', 'usage-of-what-runs'])
    expect(await runProviderClauses(() => provider, { focus })).toMatchObject([{ outcome: 'passed' }]);
  const names: string[] = [];
  conformance(provider, {
    describe: (_area, body) => {
      body();
    },
    it: (name) => names.push(name),
  });
  expect(names).toHaveLength(providerClauses.length);
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

test('a clause does not apply where the backend has no containers that behave so, or knows pods by name', async () => {
  const make = () => ({
    ...memoryWorld(),
    behave: (pod: Pod, _container: string, behaviour: Behaviour) =>
      Object.keys(behaviour).length === 0 ? pod : undefined,
    oneByName: true,
  });
  const results = await runProviderClauses(make);
  const details = new Map(results.map(({ name, outcome, detail = '' }) => [name, `${outcome} ${detail}`]));
  expect(details.get('exit-codes-are-real')).toBe('not applicable behave: a container with runMs, exitCode');
  expect(details.get('keeps-pods-of-one-name-apart')).toBe(
    'not applicable pods by UID: the backend knows pods by name',
  );
  expect(details.get('kill-stops-everything')).toBe('passed ');
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
});
