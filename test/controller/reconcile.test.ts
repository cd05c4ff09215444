import { expect, test } from 'vitest';
import { isTerminalError, TerminalError } from '../../src/controller/reconcile.ts';

const loop = new Error('a');
loop.cause = loop;

test.each([
  ['a terminal error', new TerminalError('x'), true],
  ['one that is the cause of another error', new Error('outer', { cause: new TerminalError('x') }), true],
  ['one among several', new AggregateError([new Error('a'), new TerminalError('x')]), true],
  ['an ordinary error', new Error('x'), false],
  ['an error that is its own cause', loop, false],
  ['a value', 'terminal error', false],
])('isTerminalError: %s', (_, error, expected) => {
  expect(isTerminalError(error)).toBe(expected);
});

test('a terminal error wraps an error, whose text it shows', () => {
  const cause = new RangeError('too big');
  const error = new TerminalError(cause);
  expect([error.message, error.cause, error.name]).toEqual([
    'terminal error: too big',
    cause,
    'TerminalError',
  ]);
});
