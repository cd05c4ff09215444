import {
  roleBindingStrategy,
  clusterRoleBindingStrategy,
} from '../../../../src/apiserver/registry/rbac/role-binding.ts';
import { testKind } from '../one-kind.ts';

testKind(roleBindingStrategy, {
  created: [
    [
      { roleRef: { kind: 'ClusterRole', name: 'view' } },
      { roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' } },
    ],
    [
      {
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'Group', name: 'g' },
          { kind: 'ServiceAccount', name: 's', namespace: 'd' },
        ],
      },
      {
        roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
        subjects: [
          { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'ServiceAccount', name: 's', namespace: 'd' },
        ],
      },
    ],
    [
      { roleRef: { kind: 'Role', name: 'x' } },
      { roleRef: { kind: 'Role', name: 'x', apiGroup: 'rbac.authorization.k8s.io' } },
    ],
    [
      { roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [{ kind: 'User', name: 'u' }] },
      {
        roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
        subjects: [{ kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    ],
  ],
  rejected: [
    [
      {},
      [
        'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [
      { roleRef: { apiGroup: 'x', kind: 'y', name: '' } },
      [
        'roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        'roleRef.kind: Unsupported value: "y": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [
      { roleRef: { kind: 'ClusterRole', name: 'a/b' } },
      ['roleRef.name: Invalid value: "a/b": may not contain \'/\''],
    ],
    [
      {
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [
          { kind: 'X', name: '' },
          { kind: 'User', apiGroup: 'x', name: 'u' },
          { kind: 'ServiceAccount', name: 'A_', apiGroup: 'x' },
          { kind: 'ServiceAccount', name: '' },
          { kind: 'Group', name: 'g', apiGroup: 'x' },
        ],
      },
      [
        'subjects[0].name: Required value',
        'subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"',
        'subjects[1].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        "subjects[2].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'subjects[2].apiGroup: Unsupported value: "x": supported values: ""',
        'subjects[3].name: Required value',
        'subjects[4].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
      ],
    ],
  ],
  updates: {
    of: { roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [{ kind: 'User', name: 'u' }] },
    patches: [
      [
        { roleRef: { name: 'edit' } },
        '',
        [
          'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
        ],
      ],
      [{ subjects: [{ kind: 'User', name: 'v' }] }, '', 0],
    ],
  },
});

testKind(clusterRoleBindingStrategy, {
  created: [
    [
      { roleRef: { kind: 'ClusterRole', name: 'view' } },
      { roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' } },
    ],
    [
      {
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'Group', name: 'g' },
          { kind: 'ServiceAccount', name: 's', namespace: 'd' },
        ],
      },
      {
        roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
        subjects: [
          { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.k8s.io' },
          { kind: 'ServiceAccount', name: 's', namespace: 'd' },
        ],
      },
    ],
  ],
  rejected: [
    [
      {},
      [
        'roleRef.kind: Unsupported value: "": supported values: "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [
      { roleRef: { apiGroup: 'x', kind: 'y', name: '' } },
      [
        'roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        'roleRef.kind: Unsupported value: "y": supported values: "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [
      { roleRef: { kind: 'ClusterRole', name: 'a/b' } },
      ['roleRef.name: Invalid value: "a/b": may not contain \'/\''],
    ],
    [
      {
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [
          { kind: 'X', name: '' },
          { kind: 'User', apiGroup: 'x', name: 'u' },
          { kind: 'ServiceAccount', name: 'A_', apiGroup: 'x' },
          { kind: 'ServiceAccount', name: '' },
          { kind: 'Group', name: 'g', apiGroup: 'x' },
        ],
      },
      [
        'subjects[0].name: Required value',
        'subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"',
        'subjects[1].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        "subjects[2].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'subjects[2].apiGroup: Unsupported value: "x": supported values: ""',
        'subjects[2].namespace: Required value',
        'subjects[3].name: Required value',
        'subjects[3].namespace: Required value',
        'subjects[4].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
      ],
    ],
    [
      { roleRef: { kind: 'Role', name: 'x' } },
      ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
    ],
  ],
});
