import { csiNodeStrategy } from '../../../../src/apiserver/registry/storage/csi-node.ts';
import { testKind } from '../one-kind.ts';

testKind(csiNodeStrategy, {
  created: [
    [
      { spec: { drivers: [{ name: 'a.b', nodeID: 'x', topologyKeys: ['a/b'], allocatable: { count: 3 } }] } },
      { spec: { drivers: [{ name: 'a.b', nodeID: 'x', topologyKeys: ['a/b'], allocatable: { count: 3 } }] } },
    ],
    [{ spec: {} }, { spec: { drivers: null } }],
    [{ spec: { drivers: null } }, { spec: { drivers: null } }],
    [{ spec: { drivers: [] } }, { spec: { drivers: null } }],
  ],
  rejected: [
    [
      { spec: { drivers: [{}] } },
      ['spec.drivers[0].name: Required value', 'spec.drivers[0].nodeID: Required value'],
    ],
    [
      {
        spec: {
          drivers: [
            {
              name: 'A_',
              nodeID:
                'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
              allocatable: { count: -1 },
              topologyKeys: ['', 'a', 'a', 'b c'],
            },
            { name: 'q', nodeID: 'x' },
            { name: 'q', nodeID: 'x' },
          ],
        },
      },
      [
        "spec.drivers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.drivers[0].nodeID: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be 256 characters or less',
        'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
        'spec.drivers[0]: Required value',
        'spec.drivers[0]: Invalid value: "": name part must be non-empty',
        "spec.drivers[0]: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'spec.drivers[0]: Duplicate value: "a"',
        "spec.drivers[0]: Invalid value: \"b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'spec.drivers[2].name: Duplicate value: "q"',
      ],
    ],
  ],
  updates: {
    of: {
      spec: { drivers: [{ name: 'a.b', nodeID: 'x', topologyKeys: ['a/b'], allocatable: { count: 3 } }] },
    },
    patches: [
      [
        {
          spec: { drivers: [{ name: 'a.b', nodeID: 'y', topologyKeys: ['a/b'], allocatable: { count: 3 } }] },
        },
        '',
        [
          'spec.drivers: Invalid value: {"Name":"a.b","NodeID":"y","TopologyKeys":["a/b"],"Allocatable":null}: field is immutable',
        ],
      ],
      [
        {
          spec: { drivers: [{ name: 'a.b', nodeID: 'x', topologyKeys: ['a/b'], allocatable: { count: 4 } }] },
        },
        '',
        0,
      ],
    ],
  },
});
