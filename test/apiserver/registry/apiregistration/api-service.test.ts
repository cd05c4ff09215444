import { apiServiceStrategy } from '../../../../src/apiserver/registry/apiregistration/api-service.ts';
import { testKind } from '../one-kind.ts';

testKind(apiServiceStrategy, {
  created: [],
  rejected: [
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: { group: 'k.example', version: 'v1', groupPriorityMinimum: 0, versionPriority: 1001 },
      },
      [
        'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
        'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000',
      ],
    ],
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: { group: '', version: 'v2', groupPriorityMinimum: 10, versionPriority: 10 },
      },
      [
        'metadata.name: Invalid value: "v1.k.example": must be `spec.version+"."+spec.group`: "v2."',
        'spec.group: Required value: only v1 may have an empty group and it better be legacy kube',
      ],
    ],
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: { group: 'A_', version: '1', groupPriorityMinimum: 10, versionPriority: 10 },
      },
      [
        'metadata.name: Invalid value: "v1.k.example": must be `spec.version+"."+spec.group`: "1.A_"',
        "spec.group: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.version: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: {
          group: 'k.example',
          version: 'v1',
          groupPriorityMinimum: 10,
          versionPriority: 10,
          caBundle: 'YWJj',
          insecureSkipTLSVerify: true,
        },
      },
      [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
      ],
    ],
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: {
          group: 'k.example',
          version: 'v1',
          groupPriorityMinimum: 10,
          versionPriority: 10,
          service: {},
        },
      },
      ['spec.service.namespace: Required value', 'spec.service.name: Required value'],
    ],
    [
      {
        metadata: { name: 'v1.k.example' },
        spec: {
          group: 'k.example',
          version: 'v1',
          groupPriorityMinimum: 10,
          versionPriority: 10,
          service: { name: 'a', namespace: 'b', port: 99999 },
          caBundle: 'YWJj',
          insecureSkipTLSVerify: true,
        },
      },
      [
        'spec.service.port: Invalid value: 99999: port is not valid: must be between 1 and 65535, inclusive',
        'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
      ],
    ],
    [
      {
        metadata: { name: 'v1.other' },
        spec: { group: 'k.example', version: 'v1', groupPriorityMinimum: 10, versionPriority: 10 },
      },
      ['metadata.name: Invalid value: "v1.other": must be `spec.version+"."+spec.group`: "v1.k.example"'],
    ],
  ],
});
