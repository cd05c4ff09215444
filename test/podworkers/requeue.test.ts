import { expect, test } from 'vitest';
import { requeueDefaults, requeueDelay } from '../../src/podworkers/requeue.ts';

const backingOff = (until: number): Error => Object.assign(new Error('back-off'), { backOffUntil: until });

const rows = [
  { says: 'success: the resync', error: undefined, ms: 60_000 },
  { says: 'an error: the back-off', error: new Error('broke'), ms: 10_000 },
  { says: 'an error that is no Error too', error: 'broke', ms: 10_000 },
  { says: 'a network that is not ready: soon', error: new Error('network is not ready: cni'), ms: 1000 },
  { says: 'the end of a back-off', error: backingOff(1_005_000), ms: 5000 },
  {
    says: 'the earliest of several',
    error: new AggregateError([backingOff(1_009_000), backingOff(1_004_000)]),
    ms: 4000,
  },
  {
    says: 'one inside another error',
    error: new Error('sync failed', { cause: backingOff(1_003_000) }),
    ms: 3000,
  },
  { says: 'a back-off that is over: at once', error: backingOff(900_000), ms: 0 },
  { says: 'a back-off beyond the resync: the resync', error: backingOff(9_000_000), ms: 60_000 },
  {
    says: 'the network wins over a back-off',
    error: new AggregateError([backingOff(1_004_000), new Error('network is not ready')]),
    ms: 1000,
  },
];

test.for(rows)('$says (R117)', ({ error, ms }) => {
  expect(requeueDelay({ transitioned: false, error }, requeueDefaults, 1_000_000)).toBe(ms);
});

test('a transition wins over everything (R117)', () => {
  expect(requeueDelay({ transitioned: true, error: new Error('broke') }, requeueDefaults, 0)).toBe(0);
});

test('an error that causes itself ends the search', () => {
  const error = new Error('round');
  error.cause = error;
  expect(requeueDelay({ transitioned: false, error }, requeueDefaults, 0)).toBe(10_000);
});
