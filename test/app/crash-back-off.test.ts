import { expect, test } from 'vitest';
import { crashBackOffOf } from '../../src/app/crash-back-off.ts';

const max = (maxContainerRestartPeriod: string) => ({ crashLoopBackOff: { maxContainerRestartPeriod } });
const gates = (featureGates: Readonly<Record<string, boolean>>) => ({ featureGates });
const reduced = { ReduceDefaultCrashLoopBackOffDecay: true };
const unset = { KubeletCrashLoopBackOffMax: false };

test.for([
  { says: 'by default from 10 s to 5 min', settings: max('5m0s'), spans: [10_000, 300_000] },
  { says: 'a longest one', settings: max('30s'), spans: [10_000, 30_000] },
  { says: 'which may be shorter than the first', settings: max('1s'), spans: [1000, 1000] },
  { says: 'unless its gate is off', settings: { ...max('1s'), ...gates(unset) }, spans: [10_000, 300_000] },
  {
    says: 'a gate makes it shorter',
    settings: { ...max('5m'), ...gates({ ...unset, ...reduced }) },
    spans: [1000, 60_000],
  },
  {
    says: 'but the setting longer again',
    settings: { ...max('5m'), ...gates(reduced) },
    spans: [1000, 300_000],
  },
])('containers that crash wait: $says', ({ settings, spans: [initialMs, maxMs] }) => {
  expect(crashBackOffOf(settings)).toEqual({ initialMs, maxMs, expiryMs: 600_000 });
});
