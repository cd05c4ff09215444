import { describe, expect, test } from 'vitest';
import {
  type Condition,
  findStatusCondition,
  isStatusConditionFalse,
  isStatusConditionPresentAndEqual,
  isStatusConditionTrue,
  removeStatusCondition,
  setStatusCondition,
} from '../../../src/controller/controllerutil/conditions.ts';

const now = Date.parse('2026-03-04T05:06:07.890Z');
const before = '2026-01-01T00:00:00Z';
const ready: Condition = {
  ...{ type: 'Ready', status: 'False', observedGeneration: 1, lastTransitionTime: before },
  ...{ reason: 'Starting', message: '0 of 3' },
} as const;
const other: Condition = {
  ...{ type: 'Degraded', status: 'Unknown', lastTransitionTime: before, reason: 'New', message: '' },
} as const;

describe('controllerutil: status conditions', () => {
  test('setStatusCondition adds one of a new type at the end, with the time in whole seconds', () => {
    const conditions = [other];
    const { lastTransitionTime: _, ...added } = ready;
    expect(setStatusCondition(conditions, added, now)).toBe(true);
    expect(conditions).toEqual([other, { ...ready, lastTransitionTime: '2026-03-04T05:06:07Z' }]);
  });

  test('setStatusCondition keeps a time that the new condition brings', () => {
    const conditions: Condition[] = [];
    expect(setStatusCondition(conditions, ready, now)).toBe(true);
    expect(conditions).toEqual([ready]);
    const time = '2026-02-02T00:00:00Z';
    setStatusCondition(conditions, { ...ready, status: 'True', lastTransitionTime: time }, now);
    expect(conditions).toEqual([{ ...ready, status: 'True', lastTransitionTime: time }]);
  });

  test('setStatusCondition changes the time with the status', () => {
    const conditions = [ready, other];
    const { lastTransitionTime: _, ...next } = { ...ready, status: 'True' as const, reason: 'Ready' };
    expect(setStatusCondition(conditions, next, now)).toBe(true);
    expect(conditions).toEqual([{ ...next, lastTransitionTime: '2026-03-04T05:06:07Z' }, other]);
  });

  test.for([{ reason: 'Waiting' }, { message: '1 of 3' }, { observedGeneration: 2 }])(
    'setStatusCondition keeps the time while the status stays, with a new $0',
    (change) => {
      const conditions = [ready];
      const { lastTransitionTime: _, ...next } = { ...ready, ...change };
      expect(setStatusCondition(conditions, next, now)).toBe(true);
      expect(conditions).toEqual([{ ...ready, ...change }]);
    },
  );

  test('setStatusCondition says that nothing changed, and leaves the list', () => {
    const conditions = [ready];
    expect(
      setStatusCondition(conditions, { ...ready, lastTransitionTime: '2026-03-04T00:00:00Z' }, now),
    ).toBe(false);
    expect(conditions[0]).toBe(ready);
  });

  test('setStatusCondition changes no condition that was in the list', () => {
    const frozen = Object.freeze({ ...ready });
    const conditions: Condition[] = [frozen];
    setStatusCondition(conditions, { ...ready, status: 'True' }, now);
    expect(frozen).toEqual(ready);
  });

  test('removeStatusCondition removes each of the type and says so', () => {
    const conditions = [ready, other, ready];
    expect(removeStatusCondition(conditions, 'Ready')).toBe(true);
    expect(conditions).toEqual([other]);
    expect(removeStatusCondition(conditions, 'Ready')).toBe(false);
    expect(removeStatusCondition(undefined, 'Ready')).toBe(false);
  });

  test('findStatusCondition returns the one of the type, or undefined', () => {
    expect(findStatusCondition([other, ready], 'Ready')).toBe(ready);
    expect(findStatusCondition([other], 'Ready')).toBeUndefined();
    expect(findStatusCondition(undefined, 'Ready')).toBeUndefined();
  });

  test('isStatusConditionTrue and isStatusConditionFalse are false for Unknown and for none', () => {
    const conditions: Condition[] = [ready, other, { ...ready, type: 'Up', status: 'True' }];
    const types = ['Ready', 'Degraded', 'Up', 'Missing'];
    expect(types.filter((type) => isStatusConditionTrue(conditions, type))).toEqual(['Up']);
    expect(types.filter((type) => isStatusConditionFalse(conditions, type))).toEqual(['Ready']);
    expect(types.filter((type) => isStatusConditionPresentAndEqual(conditions, type, 'Unknown'))).toEqual([
      'Degraded',
    ]);
    expect(isStatusConditionTrue(undefined, 'Up')).toBe(false);
  });
});
