import { roleStrategy, clusterRoleStrategy } from '../../../../src/apiserver/registry/rbac/role.ts';
import { testKind } from '../one-kind.ts';

testKind(roleStrategy, {
  created: [
    [
      { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
      { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
    ],
    [{}, { rules: null }],
    [{ rules: [] }, { rules: null }],
    [{ rules: null }, { rules: null }],
    [{ metadata: { name: 'a:b' }, rules: [] }, { rules: null }],
  ],
  rejected: [
    [
      { rules: [{}] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
      ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
    ],
    [
      { rules: [{ verbs: [], nonResourceURLs: ['/x'], apiGroups: [''], resources: ['x'] }] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
    [
      { rules: [{ verbs: ['x'], apiGroups: ['a'] }] },
      ['rules[0].resources: Required value: resource rules must supply at least one resource'],
    ],
  ],
  updates: {
    of: { metadata: { name: 'a:b' }, rules: [] },
    patches: [
      [
        { rules: [{ verbs: ['a'], apiGroups: [''], resources: ['x'] }] },
        '',
        ['roles.rbac.authorization.k8s.io "one" not found'],
      ],
      [{ rules: [{}] }, '', ['roles.rbac.authorization.k8s.io "one" not found']],
    ],
  },
});

testKind(clusterRoleStrategy, {
  created: [
    [
      { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
      { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
    ],
    [{}, { rules: null }],
    [{ rules: [] }, { rules: null }],
    [{ rules: null }, { rules: null }],
    [
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
    ],
    [
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } },
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }, rules: null },
    ],
  ],
  rejected: [
    [
      { rules: [{}] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      { rules: [{ verbs: [], nonResourceURLs: ['/x'], apiGroups: [''], resources: ['x'] }] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
    [
      { rules: [{ verbs: ['x'], apiGroups: ['a'] }] },
      ['rules[0].resources: Required value: resource rules must supply at least one resource'],
    ],
    [
      { aggregationRule: {} },
      [
        'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
      ],
    ],
    [
      { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }] } },
      [
        'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
        'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
      ],
    ],
  ],
});
