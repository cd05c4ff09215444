import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../src/kube/duration.ts';

test.for([
  ['1.5h', '1h30m0s'],
  ['-.5s', '-500ms'],
  ['+1m1ns', '1m0.000000001s'],
  ['-9223372036854775808ns', '-2562047h47m16.854775808s'],
  ['0.00000000000000000001h', '0s'],
] as const)('%j is the span %s', ([text, span]) => {
  const nanos = parseDuration(text);
  expect(typeof nanos === 'bigint' ? formatDuration(nanos) : nanos).toBe(span);
});

test.for([
  ['5', 'time: missing unit in duration "5"'],
  ['5x', 'time: unknown unit "x" in duration "5x"'],
  ['5ü', String.raw`time: unknown unit "\xc3\xbc" in duration "5\xc3\xbc"`],
  ['a"\n', String.raw`time: invalid duration "a\"\x0a"`],
  ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
  ['99999999999999999999', 'time: invalid duration "99999999999999999999"'],
] as const)('%j is no span, in the words of Go', ([text, fault]) => {
  expect(parseDuration(text)).toBe(fault);
});
