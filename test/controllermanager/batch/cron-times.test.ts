import { expect, test } from 'vitest';
import { type CronSchedule, parseCronSchedule } from '../../../src/kube/cron-schedule.ts';
import { missedTimes, nextTime } from '../../../src/controllermanager/batch/cron-times.ts';

const schedule = (text: string): CronSchedule => {
  const parsed = parseCronSchedule(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};
const next = (text: string, after: string, zone = 'UTC'): string | undefined => {
  const at = nextTime(schedule(text), Date.parse(after), zone);
  return at === undefined ? undefined : new Date(at).toISOString();
};

test('the next time matches all fields, on the clock of the zone', () => {
  expect(next('*/15 * * * *', '2026-01-01T00:15:00Z')).toBe('2026-01-01T00:30:00.000Z');
  expect(next('0 0 29 2 *', '2026-01-01T00:00:00Z')).toBe('2028-02-29T00:00:00.000Z');
  expect(next('0 0 13 * 5', '2026-01-01T00:00:00Z')).toBe('2026-01-02T00:00:00.000Z');
  expect(next('0 0 31 2 *', '2026-01-01T00:00:00Z')).toBeUndefined();
  expect(next('0 9 * * *', '2026-07-01T00:00:00Z', 'Europe/Berlin')).toBe('2026-07-01T07:00:00.000Z');
  // the clock never shows 2:30 on this day
  expect(next('30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin')).toBe('2026-03-30T00:30:00.000Z');
  expect(next('@every 90s', '2026-01-01T00:00:00Z')).toBe('2026-01-01T00:01:30.000Z');
});

test('a clock that changes by half an hour: the search goes on in steps of an hour, as in kube-controller-manager', () => {
  const zone = 'Australia/Lord_Howe';
  // from 2:00 to 2:30: the hour after it begins at 3:30 for the search, which leaves 3:15 out that day
  expect(next('15 3 * * *', '2026-10-02T16:45:00Z', zone)).toBe('2026-10-04T16:15:00.000Z');
  expect(next('45 3 * * *', '2026-10-02T17:15:00Z', zone)).toBe('2026-10-03T16:45:00.000Z');
  // from 2:00 to 1:30: 1:45 is shown twice
  expect(next('45 1 * * *', '2026-04-04T00:00:00Z', zone)).toBe('2026-04-04T14:45:00.000Z');
  expect(next('45 1 * * *', '2026-04-04T14:45:00Z', zone)).toBe('2026-04-04T15:15:00.000Z');
});

test('a zone that leaves out a day does not stop the search', () => {
  expect(next('0 2 * * 2', '2011-12-28T17:36:57Z', 'Pacific/Apia')).toBe('2012-01-02T12:00:00.000Z');
});

test('what the clock shows twice in autumn is due twice', () => {
  const zone = 'America/New_York';
  expect(next('0 1 * * *', '2012-11-04T04:00:00Z', zone)).toBe('2012-11-04T05:00:00.000Z');
  expect(next('0 1 * * *', '2012-11-04T05:00:00Z', zone)).toBe('2012-11-04T06:00:00.000Z');
  expect(next('0 1 * * *', '2012-11-04T06:00:00Z', zone)).toBe('2012-11-05T06:00:00.000Z');
  expect(next('30 * * * *', '2012-11-04T05:30:00Z', zone)).toBe('2012-11-04T06:30:00.000Z');
  expect(next('*/20 * * * *', '2012-11-04T05:40:00Z', zone)).toBe('2012-11-04T06:00:00.000Z');
});

test('a midnight that the clock skips is not due that day', () => {
  const zone = 'America/Sao_Paulo';
  expect(next('0 0 * * *', '2018-11-03T12:00:00Z', zone)).toBe('2018-11-05T02:00:00.000Z');
  expect(next('0 * * * *', '2018-11-04T02:00:00Z', zone)).toBe('2018-11-04T03:00:00.000Z');
});

test('a whole day that the clock skips is not due', () => {
  expect(next('0 12 * * *', '2011-12-29T23:00:00Z', 'Pacific/Apia')).toBe('2011-12-30T22:00:00.000Z');
});

test('the last of many missed times is found', () => {
  const [since, now] = [Date.parse('2024-01-01T00:00:00Z'), Date.parse('2026-01-01T00:00:30Z')];
  const many = missedTimes(schedule('* * * * *'), 'UTC', { since, now });
  expect(many.last).toBe(Date.parse('2026-01-01T00:00:00Z'));
  expect(many.count).toBeGreaterThan(100);
  expect(missedTimes(schedule('0 0 1 1 *'), 'UTC', { since, now })).toEqual({
    last: Date.parse('2026-01-01T00:00:00Z'),
    count: 2,
  });
});
