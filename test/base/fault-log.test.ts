import { expect, test } from 'vitest';
import { AgentError } from '../../src/base/errors.ts';
import { FaultLog } from '../../src/base/fault-log.ts';

test('the stack is told the first time in a row, the text each time', () => {
  const faults = new FaultLog();
  const error = new Error('away');
  expect(faults.fieldsOf('a', error)).toEqual({ err: 'away', stack: error.stack });
  expect(faults.fieldsOf('a', new Error('away'))).toEqual({ err: 'away' });
  expect(faults.fieldsOf('b', error), 'another thing').toHaveProperty('stack');
  expect(faults.fieldsOf('a', new Error('still away')), 'another text').toHaveProperty('stack');
  faults.clear('a');
  expect(faults.fieldsOf('a', new Error('still away')), 'after a success').toHaveProperty('stack');
});

test('the stack of an adopted error is that of its cause; what is no error has none', () => {
  const faults = new FaultLog();
  const cause = new TypeError('x is not a function');
  expect(faults.fieldsOf('a', AgentError.from(cause))).toEqual({ err: cause.message, stack: cause.stack });
  expect(faults.fieldsOf('b', 'a text')).toEqual({ err: 'a text' });
});
