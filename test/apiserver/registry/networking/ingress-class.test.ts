import { ingressClassStrategy } from '../../../../src/apiserver/registry/networking/ingress-class.ts';
import { testKind } from '../one-kind.ts';

testKind(ingressClassStrategy, {
  created: [
    [{ spec: { controller: 'a.b/c' } }, { metadata: { generation: 1 }, spec: { controller: 'a.b/c' } }],
    [
      { spec: { controller: 'a.b/c', parameters: { kind: 'a', name: 'b' } } },
      {
        metadata: { generation: 1 },
        spec: { controller: 'a.b/c', parameters: { kind: 'a', name: 'b', scope: 'Cluster' } },
      },
    ],
  ],
  rejected: [
    [{ spec: {} }, ['spec.controller: Required value']],
    [{ spec: { controller: '' } }, ['spec.controller: Required value']],
    [
      { spec: { controller: 'x' } },
      ['spec.controller: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      { spec: { controller: 'A_/b c' } },
      [
        "spec.controller: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.controller: Invalid value: \"b c\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
      ],
    ],
    [
      {
        spec: {
          controller:
            'a.b/cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc',
        },
      },
      ['spec.controller: Too long: may not be more than 250 bytes'],
    ],
    [
      { spec: { controller: 'a.b/c', parameters: { kind: '', name: '', scope: 'x' } } },
      [
        'spec.parameters.kind: Required value',
        'spec.parameters.name: Required value',
        'spec.parameters.scope: Unsupported value: "x": supported values: "Cluster", "Namespace"',
      ],
    ],
    [
      {
        spec: {
          controller: 'a.b/c',
          parameters: { apiGroup: 'A_', kind: 'a/b', name: 'a%b', scope: 'Namespace' },
        },
      },
      [
        "spec.parameters.apiGroup: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.parameters.kind: Invalid value: "a/b": may not contain \'/\'',
        'spec.parameters.name: Invalid value: "a%b": may not contain \'%\'',
        "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
      ],
    ],
    [
      {
        spec: {
          controller: 'a.b/c',
          parameters: { kind: 'a', name: 'b', scope: 'Namespace', namespace: 'A_' },
        },
      },
      [
        "spec.parameters.namespace: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [
      {
        spec: { controller: 'a.b/c', parameters: { kind: 'a', name: 'b', scope: 'Cluster', namespace: 'x' } },
      },
      ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ],
    [
      { spec: { controller: 'a.b/c', parameters: {} } },
      ['spec.parameters.kind: Required value', 'spec.parameters.name: Required value'],
    ],
  ],
  updates: {
    of: { spec: { controller: 'a.b/c' } },
    patches: [
      [
        { spec: { controller: 'a.b/d' } },
        '',
        ['spec.controller: Invalid value: "a.b/d": field is immutable'],
      ],
      [{ spec: { parameters: { kind: 'a', name: 'b' } } }, '', 2],
    ],
  },
});
