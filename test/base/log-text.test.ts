import { expect, test } from 'vitest';
import { logText } from '../../src/base/log-text.ts';

test.for<readonly [object, string]>([
  [
    {
      level: 30,
      time: '2026-11-25T08:00:00.000Z',
      pod: 'default/web',
      restarts: 2,
      msg: 'container restarted',
    },
    '2026-11-25T08:00:00.000Z INFO  container restarted pod=default/web restarts=2\n',
  ],
  [
    { level: 50, time: 't', err: 'no such file\nor "so"', msg: 'x' },
    't ERROR x err="no such file\\nor \\"so\\""\n',
  ],
  [{ level: 40, time: 't', empty: '', list: [1], msg: 'x' }, 't WARN  x empty="" list=[1]\n'],
  [
    { level: 50, time: 't', err: { type: 'Error', message: 'gone', stack: 'Error: gone\n at' }, msg: 'x' },
    't ERROR x err="gone"\n',
  ],
])('%j', ([entry, line]) => {
  expect(logText(`${JSON.stringify(entry)}\n`)).toBe(line);
});

test('what is no JSON stays as it is', () => {
  expect(logText('odd\n')).toBe('odd\n');
});
