import { volumeAttributesClassStrategy } from '../../../../src/apiserver/registry/storage/volume-attributes-class.ts';
import { testKind } from '../one-kind.ts';

testKind(volumeAttributesClassStrategy, {
  created: [
    [
      { driverName: 'a', parameters: { a: 'b' } },
      { driverName: 'a', parameters: { a: 'b' } },
    ],
  ],
  rejected: [
    [
      {},
      ['driverName: Required value', 'parameters: Required value: must contain at least one key/value pair'],
    ],
    [
      { driverName: 'A_ ' },
      [
        "driverName: Invalid value: \"a_ \": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'parameters: Required value: must contain at least one key/value pair',
      ],
    ],
    [
      { driverName: 'a', parameters: { '': 'x' } },
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
  ],
  updates: {
    of: { driverName: 'a', parameters: { a: 'b' } },
    patches: [
      [
        { driverName: 'b', parameters: { a: 'c' } },
        '',
        [
          'driverName: Forbidden: updates to driverName are forbidden.',
          'parameters: Forbidden: updates to parameters are forbidden.',
        ],
      ],
    ],
  },
});
