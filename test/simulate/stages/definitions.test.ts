import { expect, test } from 'vitest';
import { pluralOf } from '../../../src/simulate/stages/definitions.ts';
import { kwokKinds } from '../../../src/simulate/stages/objects.ts';

test('the plurals are those of kwok', () => {
  expect(kwokKinds.map(pluralOf)).toEqual([
    ...['stages', 'logs', 'clusterlogs', 'execs', 'clusterexecs', 'attaches', 'clusterattaches'],
    ...['portforwards', 'clusterportforwards', 'resourceusages', 'clusterresourceusages', 'metrics'],
  ]);
});
