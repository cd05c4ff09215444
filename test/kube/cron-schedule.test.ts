import { expect, test } from 'vitest';
import { isTimeZone, parseCronSchedule } from '../../src/kube/cron-schedule.ts';

test('fields are lists of numbers, names, ranges and steps', () => {
  expect(parseCronSchedule('*/20 1-3,22 ? jan,DEC mon-fri')).toEqual({
    minutes: new Set([0, 20, 40]),
    hours: new Set([1, 2, 3, 22]),
    daysOfMonth: new Set(Array.from({ length: 31 }, (_, i) => i + 1)),
    months: new Set([1, 12]),
    daysOfWeek: new Set([1, 2, 3, 4, 5]),
    anyDayOfMonth: true,
    anyDayOfWeek: false,
  });
  expect(parseCronSchedule('50/5 0 1 1 */2')).toMatchObject({
    minutes: new Set([50, 55]),
    daysOfWeek: new Set([0, 2, 4, 6]),
    anyDayOfWeek: false,
  });
});

test('descriptors stand for fields or for an interval', () => {
  expect(parseCronSchedule('@weekly')).toEqual(parseCronSchedule('0 0 * * 0'));
  expect(parseCronSchedule('@every 1m30s')).toEqual({ everyMs: 90_000 });
  expect(parseCronSchedule('@every 10ms')).toEqual({ everyMs: 1000 });
  expect(parseCronSchedule('CRON_TZ=Europe/Berlin @hourly')).toMatchObject({ zone: 'Europe/Berlin' });
});

test.for([
  ['', 'empty spec string'],
  ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['-1 * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-3 * * * *', 'beginning of range (5) beyond end of range (3): 5-3'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  [
    '99999999999999999999 * * * *',
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ['@noon', 'unrecognized descriptor: @noon'],
  ['@every x', 'failed to parse duration @every x: time: invalid duration "x"'],
  ['TZ=Moon * * * * *', 'provided bad location Moon: unknown time zone Moon'],
] as const)('%j is rejected', ([schedule, why]) => {
  expect(parseCronSchedule(schedule)).toBe(why);
});

test('names of time zones are those of the database', () => {
  expect(['', 'UTC', 'Europe/Berlin', 'Local'].map(isTimeZone)).toEqual([true, true, true, true]);
  expect(['Moon', '+01:00'].map(isTimeZone)).toEqual([false, false]);
});
