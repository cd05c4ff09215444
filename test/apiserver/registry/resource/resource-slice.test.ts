import { resourceSliceStrategy } from '../../../../src/apiserver/registry/resource/resource-slice.ts';
import type { JsonObject } from '../../../../src/apimachinery/json.ts';
import { testKind } from '../one-kind.ts';

const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
const sliceOf = (members: JsonObject): JsonObject => ({
  spec: { driver: 'a.b', pool, allNodes: true, ...members },
});

const capacity = (requestPolicy: JsonObject): JsonObject =>
  sliceOf({
    devices: [
      { name: 'd', allowMultipleAllocations: true, capacity: { m: { value: '10Gi', requestPolicy } } },
    ],
  });

testKind(resourceSliceStrategy, {
  created: [
    [
      sliceOf({ devices: [{ name: 'd', taints: [{ key: 'a', effect: 'NoSchedule' }] }] }),
      {
        metadata: { generation: 1 },
        spec: {
          driver: 'a.b',
          pool,
          allNodes: true,
          devices: [
            { name: 'd', taints: [{ key: 'a', effect: 'NoSchedule', timeAdded: '2026-01-02T00:00:00Z' }] },
          ],
        },
      },
    ],
  ],
  rejected: [
    [
      { spec: { driver: 'a.b', pool: { name: 'p', generation: 1, resourceSliceCount: 0 } } },
      [
        'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
        'spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required',
      ],
    ],
    [
      sliceOf({ nodeName: 'n' }),
      [
        'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
      ],
    ],
    [
      sliceOf({
        devices: [
          {
            name: 'd',
            attributes: { '/a': { int: 1 }, b: {}, c: { version: '1.2' } },
            taints: [{ key: 'a', effect: 'x' }],
            allNodes: true,
            bindingConditions: ['c'],
          },
        ],
      }),
      [
        'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
        'spec.devices[0].attributes[b]: Invalid value: "": exactly one value must be specified',
        'spec.devices[0].attributes[c].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0',
        'spec.devices[0].taints[0].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule", "None"',
        'spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
        'spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions',
      ],
    ],
    [
      capacity({ default: '1Gi', validRange: { min: '2Gi', max: '20Gi', step: '3Gi' } }),
      [
        'spec.devices[0].capacity[m].requestPolicy.validRange.min: Invalid value: "1Gi": default is less than min: 2Gi',
        'spec.devices[0].capacity[m].requestPolicy.validRange.max: Invalid value: "20Gi": max is larger than capacity value: 10Gi',
        'spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "1Gi": value is not a multiple of a given step (3Gi) from (2Gi)',
      ],
    ],
    [
      capacity({ validValues: ['1Gi'] }),
      [
        'spec.devices[0].capacity[m].requestPolicy.default: Required value: required when validValues is defined',
      ],
    ],
    [
      capacity({ default: '3Gi', validValues: ['2Gi', '1Gi', '11Gi'] }),
      [
        'spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order',
        'spec.devices[0].capacity[m].requestPolicy.validValues[2]: Invalid value: "11Gi": option is larger than capacity value: 10Gi',
        'spec.devices[0].capacity[m].requestPolicy.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy',
      ],
    ],
  ],
  updates: {
    of: sliceOf({ devices: [{ name: 'd' }] }),
    patches: [
      [{ spec: { pool: { generation: 2 } } }, '', 2],
      [{ spec: { driver: 'b.c' } }, '', ['spec.driver: Invalid value: "b.c": field is immutable']],
    ],
  },
});
