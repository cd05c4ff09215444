import { expect, test } from 'vitest';
import { selectableFaults } from '../../../src/apiserver/apiextensions/selectable-fields.ts';

const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } } },
  },
};

test.for([
  ['.spec.a', []],
  ['', ['Required value']],
  ['spec.a', ['Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec']],
  ['.spec.c', ['Invalid value: ".spec.c": is an invalid path: does not refer to a valid field']],
  ['.spec[0]', ['Invalid value: ".spec[0]": is an invalid path: array notation is not allowed']],
  [
    '.spec.b',
    [
      'Invalid value: ".spec.b": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    ],
  ],
] as const)('a selector may use %j: %j', ([jsonPath, faults]) => {
  const found = selectableFaults({ schema, selectableFields: [{ jsonPath }] }, 'fields');
  expect(found.map(({ message }) => message)).toEqual(faults);
});
