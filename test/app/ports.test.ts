import { expect, test } from 'vitest';
import { portError, portSetting } from '../../src/app/ports.ts';
import { AgentError } from '../../src/base/errors.ts';
import { exitCodeOf, failureLines } from '../../src/cli/exit-codes.ts';

const refusal = (code: string, port: number): Error =>
  Object.assign(new Error(`listen ${code}: x 0.0.0.0:${port}`), { code, syscall: 'listen', port });
const settings = { kubelet: { readOnlyPort: 10255, healthzPort: 10248, port: 10250 } } as never;

test.for<readonly [string, number, number, string]>([
  ['EADDRINUSE', 10250, 75, 'port 10250 is in use; choose another with --port'],
  ['EADDRINUSE', 10255, 75, 'port 10255 is in use; choose another with --read-only-port'],
  [
    'EACCES',
    80,
    77,
    'port 80 may not be taken by this user; choose one from 1024 on with --port, or run as root',
  ],
])('%s of port %i ends with %i and names the setting', ([code, port, exit, line]) => {
  const wrapped = new AgentError('unavailable', 'cannot listen', { cause: refusal(code, port) });
  const reason = portError(wrapped, portSetting(settings, '--port'));
  expect([exitCodeOf(reason), failureLines(reason)]).toEqual([exit, [line]]);
});

test('another failure stays as it is', () => {
  const reason = new Error('x');
  expect(portError(reason, () => '--port')).toBe(reason);
});
