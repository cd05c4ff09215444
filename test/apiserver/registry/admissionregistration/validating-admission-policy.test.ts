import {
  validatingPolicyStrategy,
  validatingBindingStrategy,
} from '../../../../src/apiserver/registry/admissionregistration/validating-admission-policy.ts';
import { testKind } from '../one-kind.ts';

testKind(validatingPolicyStrategy, {
  created: [
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          validations: [{ expression: 'true' }],
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
          validations: [{ expression: 'true' }],
        },
        status: {},
      },
    ],
    [
      {
        spec: {
          matchConstraints: {
            resourceRules: [
              { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
            ],
          },
          validations: [{ expression: 'true' }],
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
          validations: [{ expression: 'true' }],
        },
        status: {},
      },
    ],
  ],
  rejected: [
    [
      { spec: { validations: [] } },
      [
        'spec.matchConstraints: Required value',
        'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
        'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
      ],
    ],
    [
      {
        spec: {
          matchConstraints: {},
          validations: [{ expression: 'true' }],
          failurePolicy: 'x',
          paramKind: {},
        },
      },
      [
        'spec.failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
        'spec.paramKind.apiVersion: Required value',
        'spec.paramKind.kind: Required value',
        'spec.matchConstraints.resourceRules: Required value',
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
          validations: [{ expression: 'true' }],
          paramKind: { apiVersion: 'a/b/c', kind: 'A b' },
        },
      },
      [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        "spec.paramKind.kind: Invalid value: \"A b\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
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
          validations: [{ expression: 'true' }],
          paramKind: { apiVersion: 'A_/V1', kind: 'Ab' },
        },
      },
      [
        "spec.paramKind.apiVersion: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.paramKind.apiVersion: Invalid value: \"V1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [
      {
        spec: {
          matchConstraints: {
            matchPolicy: 'x',
            resourceRules: [
              {
                operations: ['CREATE'],
                apiGroups: ['nope.x'],
                apiVersions: ['v1'],
                resources: ['nopes'],
                resourceNames: ['a/b', 'c', 'c'],
              },
            ],
            excludeResourceRules: [{}],
          },
          validations: [{ expression: 'true' }],
        },
      },
      [
        'spec.matchConstraints.matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"',
        'spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: "a/b": may not contain \'/\'',
        'spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "c"',
        'spec.matchConstraints.excludeResourceRules[0].operations: Required value',
        'spec.matchConstraints.excludeResourceRules[0].apiGroups: Required value',
        'spec.matchConstraints.excludeResourceRules[0].apiVersions: Required value',
        'spec.matchConstraints.excludeResourceRules[0].resources: Required value',
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
          validations: [
            { expression: '', message: ' ', messageExpression: ' ', reason: 'x' },
            { expression: 'true', message: 'a\nb', reason: 'Invalid' },
          ],
        },
      },
      [
        'spec.validations[0].expression: Required value: expression is not specified',
        'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
        'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
        'spec.validations[0].reason: Unsupported value: "x": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
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
          validations: [],
          auditAnnotations: [
            { key: 'a', valueExpression: '"x"' },
            { key: 'a', valueExpression: '' },
            { key: 'b c', valueExpression: '"y"' },
          ],
        },
      },
      [
        'spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified',
        'spec.auditAnnotations[1].key: Duplicate value: "a"',
        "spec.auditAnnotations[2].key: Invalid value: \"one/b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
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
          validations: [{ expression: 'true' }],
          variables: [
            { name: '', expression: '' },
            { name: '1a', expression: 'true' },
          ],
        },
      },
      [
        'spec.variables[0].name: Required value: name is not specified',
        'spec.variables[0].expression: Required value: expression is not specified',
        'spec.variables[1].name: Invalid value: "1a": must be a valid CEL identifier',
      ],
    ],
  ],
  updates: {
    of: {
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ['CREATE'], apiGroups: ['nope.x'], apiVersions: ['v1'], resources: ['nopes'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    },
    patches: [
      [{ spec: { failurePolicy: 'Ignore' } }, '', 2],
      [
        {
          metadata: { labels: { a: 'b' } },
          status: {
            observedGeneration: 2,
            typeChecking: { expressionWarnings: [{ fieldRef: '', warning: '' }] },
          },
        },
        'status',
        [
          'status.typeChecking.expressionWarnings[0].warning: Required value',
          'status.typeChecking.expressionWarnings[0].fieldRef: Required value',
        ],
      ],
    ],
  },
});

testKind(validatingBindingStrategy, {
  created: [
    [
      { spec: { policyName: 'p', validationActions: ['Deny'] } },
      { metadata: { generation: 1 }, spec: { policyName: 'p', validationActions: ['Deny'] } },
    ],
    [
      { spec: { policyName: 'p', validationActions: ['Deny'], matchResources: {} } },
      {
        metadata: { generation: 1 },
        spec: {
          policyName: 'p',
          validationActions: ['Deny'],
          matchResources: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
        },
      },
    ],
  ],
  rejected: [
    [
      { spec: { policyName: '', validationActions: [] } },
      [
        'spec.policyName: Required value',
        'spec.validationActions: Required value: at least one validation action is required',
      ],
    ],
    [
      { spec: { policyName: 'A_', validationActions: ['Deny', 'Warn', 'Deny', 'x'] } },
      [
        "spec.policyName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.validationActions[2]: Duplicate value: "Deny"',
        'spec.validationActions[3]: Unsupported value: "x": supported values: "Audit", "Deny", "Warn"',
        'spec.validationActions: Invalid value: ["Deny","Warn","Deny","x"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    ],
    [
      { spec: { policyName: 'p', validationActions: ['Deny'], paramRef: {} } },
      [
        'spec.paramRef: Required value: one of name or selector must be specified',
        'spec.paramRef.parameterNotFoundAction: Required value',
      ],
    ],
    [
      {
        spec: {
          policyName: 'p',
          validationActions: ['Deny'],
          paramRef: { name: 'a/b', selector: {}, parameterNotFoundAction: 'x' },
        },
      },
      [
        'spec.paramRef.name: Invalid value: "a/b": may not contain \'/\'',
        'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"',
      ],
    ],
    [
      { spec: { policyName: 'p', validationActions: ['Deny'], matchResources: { resourceRules: [{}] } } },
      [
        'spec.matchResources.resourceRules[0].operations: Required value',
        'spec.matchResources.resourceRules[0].apiGroups: Required value',
        'spec.matchResources.resourceRules[0].apiVersions: Required value',
        'spec.matchResources.resourceRules[0].resources: Required value',
      ],
    ],
  ],
});
