import { expect, test } from 'vitest';
import { challengesOf } from '../../../src/providers/oci/registry-auth.ts';

test.each([
  ['Basic realm="a"', [['basic', { realm: 'a' }]]],
  [
    'Bearer realm="https://a/t?x=1,2",service=b, scope="r:x:pull,push"',
    [['bearer', { realm: 'https://a/t?x=1,2', service: 'b', scope: 'r:x:pull,push' }]],
  ],
  [
    'Basic realm="a \\"b\\"", Bearer realm="c"',
    [
      ['basic', { realm: 'a "b"' }],
      ['bearer', { realm: 'c' }],
    ],
  ],
  [
    'Negotiate, Basic realm=x',
    [
      ['negotiate', {}],
      ['basic', { realm: 'x' }],
    ],
  ],
  ['', []],
])('the ways that %j offers', (header, expected) => {
  const parsed = challengesOf(header).map(({ scheme, values }) => [scheme, Object.fromEntries(values)]);
  expect(parsed).toEqual(expected);
});
