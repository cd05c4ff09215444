import { expect, test } from 'vitest';
import { regexpFault } from '../../src/go/regexp-fault.ts';

test.for([
  ['^a(b|c)+$', undefined],
  ['(', 'missing closing ): `(`'],
  ['a)', 'unexpected ): `a)`'],
  ['^(?!a)', 'invalid or unsupported Perl syntax: `(?!`'],
  ['\\(?=a', undefined],
  ['[a', 'missing closing ]: `[a`'],
  ['*a', 'missing argument to repetition operator: `*`'],
] as const)('%j is read as Go does: %j', ([pattern, why]) => {
  expect(regexpFault(pattern)).toBe(why === undefined ? undefined : `error parsing regexp: ${why}`);
});
