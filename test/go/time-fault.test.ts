import { expect, test } from 'vitest';
import { instantOf, timeFault } from '../../src/go/time-fault.ts';

const layout = ' as "2006-01-02T15:04:05Z07:00"';

test.for([
  ['', `${layout}: cannot parse "" as "2006"`],
  ['é', `${layout}: cannot parse "\\xc3\\xa9" as "2006"`],
  ['2020-01-01', `${layout}: cannot parse "" as "T"`],
  ['2020-02-20T00:00:00+0100', `${layout}: cannot parse "+0100" as "Z07:00"`],
  ['2020-13-20T00:00:00Z', ': month out of range'],
  ['2020-02-30T00:00:00Z', ': day out of range'],
  ['2020-02-20T24:00:00Z', ': hour out of range'],
  ['2020-02-20T00:00:00+25:00', ': time zone offset hour out of range'],
  ['2020-02-20T00:00:00Zx', ': extra text: "x"'],
] as const)('%j is no time as Go tells it', ([text, why]) => {
  const shown = text === 'é' ? '"\\xc3\\xa9"' : JSON.stringify(text);
  expect(timeFault(text)).toBe(`parsing time ${shown}${why}`);
});

test.for(['2020-02-29T00:00:00Z', '2020-02-20T0:00:00Z', '2020-02-20T00:00:00,5+01:00'])(
  '%j is a time, as to Go',
  (text) => {
    expect(timeFault(text)).toBeUndefined();
    expect(instantOf(text)).not.toBeNaN();
  },
);

test('a time in microseconds has six digits of them', () => {
  expect(timeFault('2020-02-20T00:00:00.123456Z', true)).toBeUndefined();
  expect(timeFault('2020-02-20T00:00:00.1Z', true)).toBe(
    'parsing time "2020-02-20T00:00:00.1Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".1Z" as ".000000"',
  );
});
