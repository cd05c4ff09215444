import { expect, test } from 'vitest';
import { ServiceRange } from '../../../../src/apiserver/registry/core/service-range.ts';

test('a range has its first address, and all but the last for services', () => {
  const range = ServiceRange.of('10.0.0.77/29');
  expect(range.text).toBe('10.0.0.72/29');
  expect(range.first).toBe('10.0.0.73');
  expect(Array.from({ length: range.count }, (_, i) => range.at(i))).toEqual(
    [73, 74, 75, 76, 77, 78].map((last) => `10.0.0.${last}`),
  );
  expect(
    ['10.0.0.72', '10.0.0.73', '10.0.0.78', '10.0.0.79', '10.0.1.73', 'x'].map((ip) => range.has(ip)),
  ).toEqual([false, true, true, false, false, false]);
});

test.each([
  ['10.0.0.0', 'an IPv4 CIDR is expected'],
  ['10.0.0.0/33', 'an IPv4 CIDR is expected'],
  ['10.0.0.0/8/8', 'an IPv4 CIDR is expected'],
  ['fd00::/108', 'an IPv4 CIDR is expected'],
  ['10.0.0.0/30', 'must be at least 8 IP addresses'],
  ['10.0.0.0/11', 'the mask must be at least 12 bits long'],
])('%s is no range', (text, why) => {
  expect(() => ServiceRange.of(text)).toThrow(why);
});
