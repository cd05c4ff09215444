import { ingressStrategy } from '../../../../src/apiserver/registry/networking/ingress.ts';
import { testKind } from '../one-kind.ts';

testKind(ingressStrategy, {
  created: [
    [
      {
        spec: {
          rules: [
            {
              host: 'a.b',
              http: {
                paths: [
                  {
                    path: '/',
                    pathType: 'Prefix',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
          tls: [{ hosts: ['a.b'], secretName: 'x' }],
        },
      },
      {
        metadata: { generation: 1 },
        spec: {
          rules: [
            {
              host: 'a.b',
              http: {
                paths: [
                  {
                    path: '/',
                    pathType: 'Prefix',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
          tls: [{ hosts: ['a.b'], secretName: 'x' }],
        },
        status: { loadBalancer: {} },
      },
    ],
    [
      { spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } } },
      {
        metadata: { generation: 1 },
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
        status: { loadBalancer: {} },
      },
    ],
    [
      { spec: { defaultBackend: { resource: { kind: 'a', name: 'b' } } } },
      {
        metadata: { generation: 1 },
        spec: { defaultBackend: { resource: { kind: 'a', name: 'b', apiGroup: null } } },
        status: { loadBalancer: {} },
      },
    ],
    [
      {
        spec: {
          rules: [
            {
              http: {
                paths: [
                  {
                    path: '',
                    pathType: 'ImplementationSpecific',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
        },
      },
      {
        metadata: { generation: 1 },
        spec: {
          rules: [
            {
              http: {
                paths: [
                  {
                    pathType: 'ImplementationSpecific',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
        },
        status: { loadBalancer: {} },
      },
    ],
    [
      { spec: { rules: [{ host: 'a.b' }] } },
      { metadata: { generation: 1 }, spec: { rules: [{ host: 'a.b' }] }, status: { loadBalancer: {} } },
    ],
    [
      {
        metadata: { annotations: { 'kubernetes.io/ingress.class': 'x' } },
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
      },
      {
        metadata: { annotations: { 'kubernetes.io/ingress.class': 'x' }, generation: 1 },
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
        status: { loadBalancer: {} },
      },
    ],
  ],
  rejected: [
    [{ spec: {} }, ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
    [
      { spec: { rules: [] } },
      ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
    ],
    [
      { spec: { defaultBackend: {} } },
      ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    ],
    [
      { spec: { defaultBackend: { resource: { apiGroup: 'A_', kind: 'a/b', name: '' } } } },
      [
        "spec.defaultBackend.resource.apiGroup: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.defaultBackend.resource.kind: Invalid value: "a/b": may not contain \'/\'',
        'spec.defaultBackend.resource.name: Required value',
      ],
    ],
    [
      {
        spec: {
          defaultBackend: {
            service: { name: 'a', port: { number: 80 } },
            resource: { kind: 'a', name: 'b' },
          },
        },
      },
      ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
    ],
    [
      { spec: { defaultBackend: { service: { name: '1a', port: {} } } } },
      ['spec.defaultBackend: Required value: port name or number is required'],
    ],
    [
      { spec: { defaultBackend: { service: { name: '', port: { name: 'a', number: 1 } } } } },
      [
        'spec.defaultBackend.service.name: Required value',
        'spec.defaultBackend: Invalid value: "": cannot set both port name & port number',
      ],
    ],
    [
      { spec: { defaultBackend: { service: { name: 'a', port: { name: 'A_b' } } } } },
      [
        'spec.defaultBackend.service.port.name: Invalid value: "A_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      ],
    ],
    [
      { spec: { defaultBackend: { service: { name: 'a', port: { number: 99999 } } } } },
      [
        'spec.defaultBackend.service.port.number: Invalid value: 99999: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      {
        spec: {
          rules: [
            {
              host: '1.2.3.4',
              http: {
                paths: [
                  {
                    path: 'x//y/..',
                    pathType: 'Prefix',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
        },
      },
      [
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
        'spec.rules[0].http.paths[0].path: Invalid value: "x//y/..": must be an absolute path',
        'spec.rules[0].http.paths[0].path: Invalid value: "x//y/..": must not contain \'//\'',
        'spec.rules[0].http.paths[0].path: Invalid value: "x//y/..": cannot end with \'/..\'',
      ],
    ],
    [
      {
        spec: {
          rules: [
            {
              host: '*.a.b',
              http: { paths: [{ path: '/', backend: { service: { name: 'a', port: { number: 80 } } } }] },
            },
          ],
        },
      },
      ['spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified'],
    ],
    [
      {
        spec: {
          rules: [
            {
              host: '*a.b',
              http: {
                paths: [
                  { path: '/', pathType: 'Any', backend: { service: { name: 'a', port: { number: 80 } } } },
                ],
              },
            },
          ],
        },
      },
      [
        "spec.rules[0].host: Invalid value: \"*a.b\": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.rules[0].http.paths[0].pathType: Unsupported value: "Any": supported values: "Exact", "ImplementationSpecific", "Prefix"',
      ],
    ],
    [
      {
        spec: {
          rules: [
            {
              host: 'A_',
              http: {
                paths: [
                  {
                    path: 'x',
                    pathType: 'ImplementationSpecific',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
        },
      },
      [
        "spec.rules[0].host: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
      ],
    ],
    [
      {
        spec: {
          rules: [
            {
              http: {
                paths: [
                  {
                    path: '/%2f/./',
                    pathType: 'Exact',
                    backend: { service: { name: 'a', port: { number: 80 } } },
                  },
                ],
              },
            },
          ],
        },
      },
      [
        'spec.rules[0].http.paths[0].path: Invalid value: "/%2f/./": must not contain \'/./\'',
        'spec.rules[0].http.paths[0].path: Invalid value: "/%2f/./": must not contain \'%2f\'',
      ],
    ],
    [{ spec: { rules: [{ http: { paths: [] } }] } }, ['spec.rules[0].http.paths: Required value']],
    [
      {
        spec: {
          defaultBackend: { service: { name: 'a', port: { number: 80 } } },
          tls: [{ hosts: ['*.x', 'A_', '*'], secretName: 'A_' }],
        },
      },
      [
        "spec.tls[0].hosts[1]: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.tls[0].hosts[2]: Invalid value: \"*\": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.tls[0].secretName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      { spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } }, ingressClassName: 'A_' } },
      [
        "spec.ingressClassName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      {
        metadata: { annotations: { 'kubernetes.io/ingress.class': 'x' } },
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } }, ingressClassName: 'y' },
      },
      [
        'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both are specified',
      ],
    ],
  ],
  updates: {
    of: {
      spec: {
        rules: [
          {
            host: 'a.b',
            http: {
              paths: [
                { path: '/', pathType: 'Prefix', backend: { service: { name: 'a', port: { number: 80 } } } },
              ],
            },
          },
        ],
        tls: [{ hosts: ['a.b'], secretName: 'x' }],
      },
    },
    patches: [
      [{ spec: { ingressClassName: 'x' } }, '', 2],
      [
        { spec: { rules: [] } },
        '',
        ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
      ],
      [
        {
          status: {
            loadBalancer: {
              ingress: [{ ip: '1.2.3.4', hostname: 'h.x', ports: [{ port: 80, protocol: 'TCP' }] }],
            },
          },
          spec: { ingressClassName: 'q' },
        },
        'status',
        2,
      ],
      [
        {
          status: {
            loadBalancer: {
              ingress: [
                { ip: 'x', hostname: '1.2.3.4' },
                { ip: '::01', hostname: 'A_' },
              ],
            },
          },
        },
        'status',
        [
          'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
          'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
          "status.loadBalancer.ingress[1].hostname: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
      ],
    ],
  },
});
