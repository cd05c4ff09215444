import { resourceClaimStrategy } from '../../../../src/apiserver/registry/resource/resource-claim.ts';
import type { JsonObject } from '../../../../src/apimachinery/json.ts';
import { testKind } from '../one-kind.ts';

const request = { name: 'r', exactly: { deviceClassName: 'c' } };
const claimOf = (devices: JsonObject): JsonObject => ({ spec: { devices } });
const device = { driver: 'a.b', pool: 'p', device: 'd' };
const allocation = { devices: { results: [{ request: 'r', ...device }] } };
const user = { resource: 'pods', name: 'p', uid: 'u' };

testKind(resourceClaimStrategy, {
  created: [
    [
      claimOf({ requests: [request] }),
      {
        spec: {
          devices: {
            requests: [
              { name: 'r', exactly: { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 } },
            ],
          },
        },
        status: {},
      },
    ],
    [
      claimOf({
        requests: [
          { name: 'r', firstAvailable: [{ name: 's', deviceClassName: 'c', allocationMode: 'All' }] },
        ],
        constraints: [{ requests: ['r/s'], matchAttribute: 'a.b/x' }],
      }),
      {
        spec: {
          devices: {
            requests: [
              { name: 'r', firstAvailable: [{ name: 's', deviceClassName: 'c', allocationMode: 'All' }] },
            ],
            constraints: [{ requests: ['r/s'], matchAttribute: 'a.b/x' }],
          },
        },
        status: {},
      },
    ],
  ],
  rejected: [
    [
      claimOf({ requests: [{ name: 'r' }, { ...request, firstAvailable: [{ name: 's' }] }] }),
      [
        'spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required',
        'spec.devices.requests[1]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set',
        'spec.devices.requests[1]: Duplicate value: "r"',
      ],
    ],
    [
      claimOf({
        requests: [{ name: 'r', exactly: { deviceClassName: '', allocationMode: 'All', count: 2 } }],
        constraints: [{ requests: ['x'], matchAttribute: 'size' }, {}],
        config: [{ requests: ['r', 'r'] }],
      }),
      [
        'spec.devices.requests[0].exactly.deviceClassName: Required value',
        "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
        `spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
        'spec.devices.constraints[0].matchAttribute: Invalid value: "size": a fully qualified name must be a domain and a name separated by a slash',
        'spec.devices.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        'spec.devices.config[0].requests[1]: Duplicate value: "r"',
        'spec.devices.config[0].opaque: Required value',
      ],
    ],
    [
      claimOf({ requests: [{ name: 'r', exactly: { deviceClassName: 'c', adminAccess: true } }] }),
      [
        'spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace',
      ],
    ],
  ],
  updates: {
    of: claimOf({ requests: [request] }),
    patches: [
      [
        { status: { reservedFor: [user] } },
        'status',
        ['status.reservedFor: Forbidden: may not be specified when `allocated` is not set'],
      ],
      [{ status: { allocation, reservedFor: [user], devices: [{ ...device, data: {} }] } }, 'status', 0],
      [
        { status: { devices: [{ ...device, device: 'e', networkData: { ips: ['10.0.0.01/8'] } }] } },
        'status',
        [
          'status.devices[0]: Invalid value: {"Driver":"a.b","Pool":"p","Device":"e","ShareID":""}: must be an allocated device in the claim',
          'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.01/8": must be in canonical form ("10.0.0.1/8")',
        ],
      ],
      [
        { status: { allocation: { devices: { results: [] } }, devices: null } },
        'status',
        [
          'status.allocation: Invalid value: {"Devices":{"Results":null,"Config":null},"NodeSelector":null,"AllocationTimestamp":null}: field is immutable',
        ],
      ],
    ],
  },
});
