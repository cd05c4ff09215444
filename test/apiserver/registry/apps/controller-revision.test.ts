import { expect, test } from 'vitest';
import { controllerRevisionStrategy } from '../../../../src/apiserver/registry/apps/controller-revision.ts';
import { OneKind } from '../one-kind.ts';

test('a revision has data, which do not change', () => {
  const revisions = new OneKind(controllerRevisionStrategy);
  expect(revisions.create({ revision: -1 }).faults).toEqual([
    'revision: Invalid value: -1: must be greater than or equal to 0',
    'data: Required value: data is mandatory',
  ]);
  expect(revisions.create({ data: 'x', revision: 1 }).faults).toEqual([
    'data: Required value: data must be a valid JSON object',
  ]);
  revisions.create({ data: { a: 1 }, revision: 1 });
  expect(revisions.update((one) => ({ ...one, data: { a: 2 } })).faults).toEqual([
    'data: Invalid value: {"a":2}: field is immutable',
  ]);
  expect(revisions.update((one) => ({ ...one, revision: 2 })).faults).toEqual([]);
});
