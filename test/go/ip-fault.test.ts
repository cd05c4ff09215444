import { expect, test } from 'vitest';
import { ipFault } from '../../src/go/ip-fault.ts';

test.each([
  ['1.2.3.4', undefined],
  ['::', undefined],
  ['1:2:3:4:5:6:1.2.3.4', undefined],
  ['fe80::1%eth0', undefined],
  ['1', 'unable to parse IP'],
  ['%a', 'missing IPv6 address'],
  ['1.2.3', 'IPv4 address too short'],
  ['1.2.3.4.5', 'IPv4 address too long'],
  ['1.02.3.4', 'IPv4 field has octet with leading zero'],
  ['1.256.3.4', 'IPv4 field has value >255'],
  ['1..3.4', 'IPv4 field must have at least one digit (at ".3.4")'],
  ['1.2.3.', 'IPv4 field must have at least one digit (at ".")'],
  ['::1%', 'zone must be a non-empty string'],
  ['12345::', 'each group must have 4 or less digits (at "12345::")'],
  ['1:2:3:4:5:6:7:8:9', 'trailing garbage after address (at "9")'],
  ['1:2:3:4:5:6:7::8', 'the :: must expand to at least one field of zeros'],
  ['1:2', 'address string too short'],
  ['1:', 'colon must be followed by more characters (at ":")'],
  ['1:g', 'each colon-separated field must have at least one digit (at "g")'],
  ['1:2g', 'unexpected character, want colon (at "g")'],
  ['1::2::3', 'multiple :: in address (at ":3")'],
  ['1:1.2.3.4', 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'],
  [
    '1::2:3:4:5:6:7:1.2.3.4',
    'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
  ],
])('%s: %s', (text, why) => {
  expect(ipFault(text)).toBe(why === undefined ? undefined : `ParseAddr("${text}"): ${why}`);
});
