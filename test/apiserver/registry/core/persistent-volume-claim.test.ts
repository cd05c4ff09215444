import { expect, test } from 'vitest';
import { claimStrategy } from '../../../../src/apiserver/registry/core/persistent-volume-claim.ts';
import type { JsonObject } from '../../../../src/apimachinery/json.ts';
import { body, OneKind, testKind } from '../one-kind.ts';

const claimOf = (members: JsonObject): JsonObject => ({
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...members },
});
const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };

/** Returns the sources of data of a new claim. */
function sourcesOf(members: JsonObject): readonly unknown[] {
  const { spec } = body(new OneKind(claimStrategy).create(claimOf(members)).object) as { spec: JsonObject };
  return [spec['dataSource'], spec['dataSourceRef']];
}

test('both references to a source of data are filled in', () => {
  expect(sourcesOf({ dataSource: source })).toEqual([source, source]);
  expect(sourcesOf({ dataSourceRef: source })).toEqual([source, source]);
});

test('a source of data that old clients cannot mean is dropped', () => {
  expect(sourcesOf({ dataSource: { ...source, kind: 'Populator' } })).toEqual([undefined, undefined]);
  const populator = { ...source, kind: 'Populator' };
  expect(sourcesOf({ dataSourceRef: populator })).toEqual([populator, populator]);
});

testKind(claimStrategy, {
  rejected: [
    [
      claimOf({ accessModes: [], selector: { matchExpressions: [{ key: 'a', operator: 'x' }] } }),
      [
        'spec.accessModes: Required value: at least 1 access mode is required',
        'spec.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator',
      ],
    ],
  ],
  updates: {
    of: claimOf({ volumeName: 'pv' }),
    patches: [
      [{ spec: { storageClassName: 'fast' } }, '', 0],
      [
        {
          status: {
            phase: 'Bound',
            capacity: { storage: '1Gi' },
            allocatedResourceStatuses: { cpu: 'x' },
            allocatedResources: { 'example.com/x': '-1' },
          },
        },
        'status',
        [
          'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
          'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
          'status.allocatedResources[example.com/x]: Invalid value: -1: must be a valid resource quantity',
        ],
      ],
      [{ status: { phase: 'Bound', capacity: { storage: '1Gi' } } }, 'status', 0],
      [{ spec: { resources: { requests: { storage: '3Gi' } } } }, '', 0],
      [{ spec: { resources: { requests: { storage: '2Gi' } } } }, '', 0],
      [
        { spec: { resources: { requests: { storage: '1Gi' } } } },
        '',
        ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'],
      ],
    ],
  },
});
