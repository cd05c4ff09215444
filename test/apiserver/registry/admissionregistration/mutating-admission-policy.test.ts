import {
  mutatingPolicyStrategy,
  mutatingBindingStrategy,
} from '../../../../src/apiserver/registry/admissionregistration/mutating-admission-policy.ts';
import { testKind } from '../one-kind.ts';

testKind(mutatingPolicyStrategy, {
  created: [
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          reinvocationPolicy: 'Never',
          mutations: [
            { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' } },
          ],
        },
      },
      {
        metadata: { generation: 1 },
        spec: {
          failurePolicy: 'Fail',
          matchConstraints: {
            matchPolicy: 'Equivalent',
            namespaceSelector: {},
            objectSelector: {},
            resourceRules: [
              {
                operations: ['CREATE'],
                apiGroups: ['nope.x'],
                apiVersions: ['v1'],
                resources: ['nopes'],
                scope: '*',
              },
            ],
          },
          reinvocationPolicy: 'Never',
          mutations: [
            { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' } },
          ],
        },
      },
    ],
  ],
  rejected: [
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          reinvocationPolicy: '',
          mutations: [],
        },
      },
      [
        'spec.mutations: Required value: mutations must contain at least one item',
        'spec.reinvocationPolicy: Required value',
      ],
    ],
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          reinvocationPolicy: 'x',
          mutations: [
            {},
            { patchType: 'x' },
            { patchType: 'JSONPatch', applyConfiguration: { expression: 'Object{}' } },
            {
              patchType: 'ApplyConfiguration',
              jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' },
            },
          ],
        },
      },
      [
        'spec.mutations[0].patchType: Required value',
        'spec.mutations[1].patchType: Unsupported value: "x": supported values: "ApplyConfiguration", "JSONPatch"',
        'spec.mutations[2].jsonPatch: Required value: must be specified when patchType is JSONPatch',
        'spec.mutations[2].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
        'spec.mutations[3].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
        'spec.mutations[3].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
        'spec.reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"',
      ],
    ],
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['DELETE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          reinvocationPolicy: 'Never',
          mutations: [
            { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' } },
          ],
        },
      },
      [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      ],
    ],
  ],
});

testKind(mutatingBindingStrategy, {
  created: [[{ spec: { policyName: 'p' } }, { metadata: { generation: 1 }, spec: { policyName: 'p' } }]],
  rejected: [
    [
      { spec: { policyName: 'A_' } },
      [
        "spec.policyName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      {
        spec: {
          policyName: 'p',
          matchResources: {
            resourceRules: [
              { operations: ['DELETE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
        },
      },
      [
        'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      ],
    ],
  ],
});
