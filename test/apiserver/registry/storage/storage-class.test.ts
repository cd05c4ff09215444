import { storageClassStrategy } from '../../../../src/apiserver/registry/storage/storage-class.ts';
import { testKind } from '../one-kind.ts';

testKind(storageClassStrategy, {
  created: [
    [
      { provisioner: 'a.b/c' },
      { provisioner: 'a.b/c', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
    ],
    [
      { provisioner: 'a', reclaimPolicy: '' },
      { provisioner: 'a', reclaimPolicy: '', volumeBindingMode: 'Immediate' },
    ],
  ],
  rejected: [
    [{}, ['provisioner: Required value']],
    [
      { provisioner: 'A_/b c' },
      [
        "provisioner: Invalid value: \"a_/b c\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "provisioner: Invalid value: \"a_/b c\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [
      { provisioner: 'a', reclaimPolicy: 'x', volumeBindingMode: 'y' },
      [
        'reclaimPolicy: Unsupported value: "x": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "y": supported values: "Immediate", "WaitForFirstConsumer"',
      ],
    ],
    [
      { provisioner: 'a', parameters: { '': 'x' } },
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
    [
      {
        provisioner: 'a',
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: 'failure-domain.beta.kubernetes.io/zone', values: ['a'] },
              { key: 'a b', values: [] },
              { key: 'k', values: ['a', 'a', 'b c'] },
              { key: 'k', values: ['z'] },
            ],
          },
          { matchLabelExpressions: [{ key: 'q', values: ['1', '2'] }] },
          { matchLabelExpressions: [{ key: 'q', values: ['2', '1'] }] },
          {},
        ],
      },
      [
        'allowedTopologies[0].matchLabelExpressions[1].values: Required value',
        "allowedTopologies[0].matchLabelExpressions[1].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'allowedTopologies[0].matchLabelExpressions[2].values[1]: Duplicate value: "a"',
        'allowedTopologies[0].matchLabelExpressions[3].key: Duplicate value: "k"',
        'allowedTopologies[2].matchLabelExpressions: Duplicate value: ""',
        'allowedTopologies[3].matchLabelExpressions: Duplicate value: ""',
        'allowedTopologies[3].matchLabelExpressions: Duplicate value: ""',
        'allowedTopologies[3].matchLabelExpressions: Duplicate value: ""',
        'allowedTopologies[3].matchLabelExpressions: Duplicate value: ""',
      ],
    ],
  ],
  updates: {
    of: { provisioner: 'a.b/c' },
    patches: [
      [{ parameters: { a: 'b' } }, '', ['parameters: Invalid value: {"a":"b"}: field is immutable']],
      [
        { provisioner: 'x', reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' },
        '',
        [
          'provisioner: Invalid value: "x": field is immutable',
          'reclaimPolicy: Invalid value: "Retain": field is immutable',
          'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
        ],
      ],
      [{ allowVolumeExpansion: true, mountOptions: ['a'] }, '', 0],
    ],
  },
});
