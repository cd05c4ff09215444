import { csiStorageCapacityStrategy } from '../../../../src/apiserver/registry/storage/csi-storage-capacity.ts';
import { testKind } from '../one-kind.ts';

testKind(csiStorageCapacityStrategy, {
  created: [
    [
      { storageClassName: 'a', capacity: '1Gi', nodeTopology: { matchLabels: { a: 'b' } } },
      { storageClassName: 'a', capacity: '1Gi', nodeTopology: { matchLabels: { a: 'b' } } },
    ],
    [
      {
        storageClassName: 'a',
        nodeTopology: { matchLabels: { 'failure-domain.beta.kubernetes.io/zone': 'x' } },
      },
      {
        storageClassName: 'a',
        nodeTopology: { matchLabels: { 'failure-domain.beta.kubernetes.io/zone': 'x' } },
      },
    ],
  ],
  rejected: [
    [
      {},
      [
        "storageClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      ],
    ],
    [
      { storageClassName: 'A_', capacity: '-1', nodeTopology: { matchLabels: { 'a b': 'c' } } },
      [
        "nodeTopology.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "storageClassName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'capacity: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
  ],
  updates: {
    of: { storageClassName: 'a', capacity: '1Gi', nodeTopology: { matchLabels: { a: 'b' } } },
    patches: [
      [{ storageClassName: 'b' }, '', ['storageClassName: Invalid value: "b": field is immutable']],
      [{ nodeTopology: {} }, '', 0],
      [{ capacity: '2Gi' }, '', 0],
    ],
  },
});
