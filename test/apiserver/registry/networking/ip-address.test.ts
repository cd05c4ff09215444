import { ipAddressStrategy } from '../../../../src/apiserver/registry/networking/ip-address.ts';
import { testKind } from '../one-kind.ts';

testKind(ipAddressStrategy, {
  created: [
    [
      {
        metadata: { name: '10.99.0.1' },
        spec: { parentRef: { resource: 'services', name: 'a', namespace: 'b' } },
      },
      { spec: { parentRef: { resource: 'services', name: 'a', namespace: 'b' } } },
    ],
  ],
  rejected: [
    [
      { metadata: { name: 'x' }, spec: {} },
      [
        'metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'spec.parentRef: Required value',
      ],
    ],
    [
      {
        metadata: { name: '10.099.0.1' },
        spec: { parentRef: { group: 'A_', resource: '', name: 'a/b', namespace: 'x%' } },
      },
      [
        'metadata.name: Invalid value: "10.099.0.1": must not have leading 0s',
        "spec.parentRef.group: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.parentRef.resource: Required value',
        'spec.parentRef.name: Invalid value: "a/b": may not contain \'/\'',
        'spec.parentRef.namespace: Invalid value: "x%": may not contain \'%\'',
      ],
    ],
    [
      { metadata: { name: '::1' }, spec: { parentRef: {} } },
      ['spec.parentRef.resource: Required value', 'spec.parentRef.name: Required value'],
    ],
  ],
  updates: {
    of: {
      metadata: { name: '10.99.0.1' },
      spec: { parentRef: { resource: 'services', name: 'a', namespace: 'b' } },
    },
    patches: [
      [{ spec: { parentRef: { name: 'c' } } }, '', ['ipaddresses.networking.k8s.io "one" not found']],
    ],
  },
});
