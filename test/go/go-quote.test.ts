import { expect, test } from 'vitest';
import { goQuoteBytes, goText } from '../../src/go/go-quote.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

test('bytes that are no UTF-8 are quoted one by one', () => {
  expect(goQuoteBytes(bytes('41c3a9c30a').toString('latin1'))).toBe('"Aé\\xc3\\n"');
  expect(goQuoteBytes('a\u007f')).toBe('"a\\x7f"');
});

test('each byte that is no UTF-8 is a replacement of its own', () => {
  expect(goText(bytes('e282ac'))).toBe('€');
  expect(goText(bytes('41e282f09f98'))).toBe('A\ufffd\ufffd\ufffd\ufffd\ufffd');
  expect(goText(bytes('c080eda080'))).toBe('\ufffd'.repeat(5));
});
