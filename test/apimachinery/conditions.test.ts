import { expect, test } from 'vitest';
import { withCondition } from '../../src/apimachinery/conditions.ts';

const other = { type: 'Other', status: 'True', lastTransitionTime: 'then' };
const ready = (status: string, lastTransitionTime: string): Record<string, string> => ({
  ...{ type: 'Ready', status, lastTransitionTime },
});

test('a condition of a new type comes last, with its own time', () => {
  expect(withCondition([other], ready('True', 'now'))).toEqual([other, ready('True', 'now')]);
});

test('the time of the transition stays while the status does', () => {
  const set = withCondition([ready('True', 'then'), other], { ...ready('True', 'now'), reason: 'New' });
  expect(set).toEqual([{ ...ready('True', 'then'), reason: 'New' }, other]);
});

test('another status has the new time', () => {
  expect(withCondition([ready('True', 'then')], ready('False', 'now'))).toEqual([ready('False', 'now')]);
});
