import { expect, test } from 'vitest';
import { findJsonFault, parseJson } from '../../src/go/json-fault.ts';

test.each([
  ['', 'unexpected end of JSON input'],
  ['{"a":1', 'unexpected end of JSON input'],
  ['nul', "invalid character ' ' in literal null (expecting 'l')"],
  ['{"a":1.}', "invalid character '}' after decimal point in numeric literal"],
  ['[1e]', "invalid character ']' in exponent of numeric literal"],
  ['{"a" \\}', "invalid character '\\\\' after object key"],
  ['["\\u12x"]', "invalid character 'x' in \\u hexadecimal character escape"],
  ['[1]é', "invalid character 'Ã' after top-level value"],
])('%j is refused as by Go', (text, message) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
  expect(findJsonFault(text).message).toBe(message);
});

const nested = (depth: number): string => `${'["\\\\",'.repeat(depth - 1)}[]${']'.repeat(depth - 1)}`;

test('what is nested 10,000 deep is read, and nothing deeper', () => {
  expect(() => parseJson(nested(10_000))).not.toThrow();
  expect(parseJson(JSON.stringify('['.repeat(20_000)))).toHaveLength(20_000);
  expect(parseJson(JSON.stringify('"[{'.repeat(20_000)))).toHaveLength(60_000);
  expect(parseJson(`[${'[],'.repeat(20_000)}{}]`)).toHaveLength(20_001);
  expect(() => parseJson(nested(10_001))).toThrow('exceeded max depth');
  expect(findJsonFault(nested(10_001)).message).toBe("invalid character '[' exceeded max depth");
});
