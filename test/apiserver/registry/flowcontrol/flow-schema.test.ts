import { flowSchemaStrategy } from '../../../../src/apiserver/registry/flowcontrol/flow-schema.ts';
import { testKind } from '../one-kind.ts';

testKind(flowSchemaStrategy, {
  created: [
    [
      { spec: { priorityLevelConfiguration: { name: 'x' } } },
      {
        metadata: { generation: 1 },
        spec: { priorityLevelConfiguration: { name: 'x' }, matchingPrecedence: 1000 },
        status: {},
      },
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, distinguisherMethod: { type: 'ByUser' } } },
      {
        metadata: { generation: 1 },
        spec: {
          priorityLevelConfiguration: { name: 'x' },
          distinguisherMethod: { type: 'ByUser' },
          matchingPrecedence: 1000,
        },
        status: {},
      },
    ],
    [
      {
        spec: {
          priorityLevelConfiguration: { name: 'x' },
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: 'a' } }],
              nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
            },
          ],
        },
      },
      {
        metadata: { generation: 1 },
        spec: {
          priorityLevelConfiguration: { name: 'x' },
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: 'a' } }],
              nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
            },
          ],
          matchingPrecedence: 1000,
        },
        status: {},
      },
    ],
  ],
  rejected: [
    [{ spec: {} }, ['spec.priorityLevelConfiguration.name: Required value: must reference a priority level']],
    [
      { spec: { priorityLevelConfiguration: { name: 'A_' } } },
      [
        "spec.priorityLevelConfiguration.name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, matchingPrecedence: 1 } },
      [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
      ],
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, matchingPrecedence: -1 } },
      ['spec.matchingPrecedence: Invalid value: -1: must be a positive value'],
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, matchingPrecedence: 10001 } },
      ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, distinguisherMethod: { type: 'x' } } },
      [
        'spec.distinguisherMethod.type: Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser"',
      ],
    ],
    [
      { spec: { priorityLevelConfiguration: { name: 'x' }, rules: [{}] } },
      [
        'spec.rules[0].subjects: Required value: subjects must contain at least one value',
        'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
      ],
    ],
    [
      {
        spec: {
          priorityLevelConfiguration: { name: 'x' },
          rules: [
            {
              subjects: [
                { kind: 'X' },
                { kind: 'User' },
                {
                  kind: 'Group',
                  group: { name: '' },
                  user: { name: 'x' },
                  serviceAccount: { name: 'x', namespace: 'y' },
                },
                { kind: 'ServiceAccount', serviceAccount: { name: 'A_', namespace: '' } },
                {
                  kind: 'ServiceAccount',
                  serviceAccount: { name: '*', namespace: 'A_' },
                  group: { name: 'q' },
                },
              ],
              resourceRules: [
                {},
                { verbs: ['*', 'get'], apiGroups: ['*', 'a'], resources: ['*', 'b'], namespaces: ['*', 'c'] },
                { verbs: ['x'], apiGroups: ['a'], resources: ['b'], namespaces: ['A_'] },
                { verbs: ['get'], apiGroups: ['a'], resources: ['b'], clusterScope: true },
              ],
              nonResourceRules: [
                {},
                { verbs: ['get'], nonResourceURLs: ['*', '/'] },
                {
                  verbs: ['x', 'get'],
                  nonResourceURLs: ['', 'a', '/a b', '/a//b', '/a*', '/*/*', '/a/*', '/'],
                },
              ],
            },
          ],
        },
      },
      [
        'spec.rules[0].subjects[0].kind: Unsupported value: "X": supported values: "Group", "ServiceAccount", "User"',
        "spec.rules[0].subjects[1].user: Required value: user is required when subject kind is 'User'",
        'spec.rules[0].subjects[2].group.name: Required value',
        "spec.rules[0].subjects[2].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
        "spec.rules[0].subjects[2].user: Forbidden: user is forbidden when subject kind is not 'User'",
        "spec.rules[0].subjects[3].serviceAccount.name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.rules[0].subjects[3].serviceAccount.namespace: Required value: must specify namespace for service account',
        "spec.rules[0].subjects[4].serviceAccount.namespace: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "spec.rules[0].subjects[4].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        'spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value',
        'spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource',
        'spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace',
        'spec.rules[0].resourceRules[1].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
        'spec.rules[0].resourceRules[1].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other api groups',
        'spec.rules[0].resourceRules[1].resources: Invalid value: ["*","b"]: if \'*\' is present, must not specify other resources',
        'spec.rules[0].resourceRules[1].namespaces: Invalid value: ["*","c"]: if \'*\' is present, must not specify other namespaces',
        'spec.rules[0].resourceRules[2].verbs: Unsupported value: ["x"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
        "spec.rules[0].resourceRules[2].namespaces[0]: Invalid value: \"A_\": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        'spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value',
        'spec.rules[0].nonResourceRules[1].nonResourceURLs: Invalid value: ["*","/"]: if \'*\' is present, must not specify other non-resource URLs',
        'spec.rules[0].nonResourceRules[2].verbs: Unsupported value: ["x","get"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[0]: Invalid value: "": must not be empty',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[1]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[3]: Invalid value: "/a//b": must not contain double slash',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[4]: Invalid value: "/a*": wildcard can only do suffix matching',
        'spec.rules[0].nonResourceRules[2].nonResourceURLs[5]: Invalid value: "/*/*": wildcard can only do suffix matching',
      ],
    ],
  ],
  updates: {
    of: { spec: { priorityLevelConfiguration: { name: 'x' } } },
    patches: [
      [{ spec: { matchingPrecedence: 5 } }, '', 2],
      [
        { metadata: { labels: { a: 'b' } }, status: { conditions: [{ type: 'Dangling', status: 'True' }] } },
        'status',
        2,
      ],
      [
        { status: { conditions: [{ type: '', status: 'True' }] } },
        'status',
        ['status.conditions[0].type: Required value'],
      ],
    ],
  },
});
