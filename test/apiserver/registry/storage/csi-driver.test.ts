import { csiDriverStrategy } from '../../../../src/apiserver/registry/storage/csi-driver.ts';
import { testKind } from '../one-kind.ts';

testKind(csiDriverStrategy, {
  created: [
    [
      { spec: {} },
      {
        spec: {
          attachRequired: true,
          podInfoOnMount: false,
          storageCapacity: false,
          fsGroupPolicy: 'ReadWriteOnceWithFSType',
          requiresRepublish: false,
          seLinuxMount: false,
          volumeLifecycleModes: ['Persistent'],
        },
      },
    ],
    [
      { spec: { tokenRequests: [{ audience: 'a' }] } },
      {
        spec: {
          attachRequired: true,
          podInfoOnMount: false,
          storageCapacity: false,
          fsGroupPolicy: 'ReadWriteOnceWithFSType',
          requiresRepublish: false,
          seLinuxMount: false,
          tokenRequests: [{ audience: 'a' }],
          volumeLifecycleModes: ['Persistent'],
        },
      },
    ],
    [
      {
        spec: {
          nodeAllocatableUpdatePeriodSeconds: 50,
          preventPodSchedulingIfMissing: true,
          seLinuxMount: true,
        },
      },
      {
        spec: {
          attachRequired: true,
          podInfoOnMount: false,
          storageCapacity: false,
          fsGroupPolicy: 'ReadWriteOnceWithFSType',
          requiresRepublish: false,
          seLinuxMount: true,
          nodeAllocatableUpdatePeriodSeconds: 50,
          volumeLifecycleModes: ['Persistent'],
        },
      },
    ],
  ],
  rejected: [
    [
      { spec: { fsGroupPolicy: 'x', volumeLifecycleModes: ['x', 'Ephemeral'] } },
      [
        'spec.fsGroupPolicy: Unsupported value: "x": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "x": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      {
        spec: {
          tokenRequests: [
            { audience: 'a', expirationSeconds: 1 },
            { audience: 'a' },
            { audience: 'b', expirationSeconds: 9999999999 },
          ],
        },
      },
      [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        'spec.tokenRequests[2].expirationSeconds: Invalid value: 9999999999: may not specify a duration larger than 2^32 seconds',
      ],
    ],
    [
      { spec: { serviceAccountTokenInSecrets: true } },
      [
        'spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified',
      ],
    ],
    [
      { spec: { nodeAllocatableUpdatePeriodSeconds: 5 } },
      [
        'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds',
      ],
    ],
  ],
  updates: {
    of: { spec: {} },
    patches: [
      [{ spec: { podInfoOnMount: true } }, '', 1],
      [
        { spec: { attachRequired: false } },
        '',
        ['spec.attachedRequired: Invalid value: false: field is immutable'],
      ],
      [
        { spec: { volumeLifecycleModes: ['Ephemeral'] } },
        '',
        ['spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable'],
      ],
      [{ spec: { tokenRequests: [{ audience: 'a' }] } }, '', 2],
    ],
  },
});
