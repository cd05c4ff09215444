import { expect, test } from 'vitest';
import { rfc3339, wholeSeconds } from '../../src/kube/time.ts';

test('an instant is written to the second, the rest cut off', () => {
  const at = Date.UTC(2026, 1, 3, 4, 5, 6);
  expect([at, at + 999, at + 1000, at].map(rfc3339)).toEqual([
    '2026-02-03T04:05:06Z',
    '2026-02-03T04:05:06Z',
    '2026-02-03T04:05:07Z',
    '2026-02-03T04:05:06Z',
  ]);
});

test.for([
  [undefined, undefined],
  [null, undefined],
  ['', undefined],
  ['0001-01-01T00:00:00Z', undefined],
  ['2026-02-03T04:05:06Z', '2026-02-03T04:05:06Z'],
  ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06Z'],
  ['2026-02-03T06:05:06+02:00', '2026-02-03T04:05:06Z'],
  ['2026-02-03 04:05:06Z', '2026-02-03T04:05:06Z'],
  ['no time at all', 'no time at all'],
  ['twenty characters: zZ', 'twenty characters: zZ'],
] as const)('the timestamp %s becomes %s (R198)', ([text, whole]) => {
  expect(wholeSeconds(text)).toBe(whole);
});
