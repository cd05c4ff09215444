import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliValueOf,
  parseQuantity,
  subQuantities,
  tryParseQuantity,
  valueOf,
} from '../../../src/kube/resources/quantity.ts';

const suffix = fc.constantFrom(
  '',
  'n',
  'u',
  'm',
  'k',
  'M',
  'G',
  'T',
  'P',
  'E',
  'Ki',
  'Mi',
  'Gi',
  'Ti',
  'e3',
  'E-2',
);
const text = fc
  .tuple(
    fc.constantFrom('', '-', '+'),
    fc.integer({ min: 0, max: 999_999 }),
    fc.integer({ min: 0, max: 999 }),
    suffix,
  )
  .map(([sign, whole, part, unit]) => `${sign}${whole}${part === 0 ? '' : `.${part}`}${unit}`);

test.for([
  ['0.5', '500m'],
  ['1.5Gi', '1536Mi'],
  ['1000m', '1'],
  ['1e3', '1e3'],
  ['1024Ki', '1Mi'],
  ['0.1n', '1n'],
  ['9Ei', '9223372036854775807'],
] as const)('%s is written %s', ([given, canonical]) => {
  expect(canonicalQuantity(given)).toBe(canonical);
});

test('what is written reads as the same amount, and is written the same again', () => {
  fc.assert(
    fc.property(text, (given) => {
      const quantity = parseQuantity(given);
      const written = formatQuantity(quantity);
      const again = parseQuantity(written);
      expect(compareQuantities(again, quantity)).toBe(0);
      expect(formatQuantity(again)).toBe(written);
    }),
  );
});

test('adding and taking away again changes nothing', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [parseQuantity(a), parseQuantity(b)];
      expect(compareQuantities(subQuantities(addQuantities(x, y), y), x)).toBe(0);
    }),
  );
});

test('any text gives a quantity or one of the three reasons, at once', () => {
  const piece = fc.constantFrom(...Array.from('0123456789.+-eEinumkKMGTP é\0'));
  const wild = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(wild, (given) => {
      const result = tryParseQuantity(given);
      if (typeof result === 'string') expect(result).toMatch(/^(quantities must match|unable to parse)/);
      else formatQuantity(result);
    }),
    { numRuns: 3000, seed: 20_261 },
  );
});

test.for(['1e999999999', '1e2147483647', '1e-999999999', '-1E999999999'])(
  '%s costs neither time nor memory',
  (given) => {
    const huge = parseQuantity(given);
    formatQuantity(addQuantities(huge, parseQuantity('1')));
    expect([-1, 0, 1]).toContain(compareQuantities(huge, parseQuantity('1Gi')));
    expect(typeof valueOf(huge)).toBe('number');
  },
);

test('whole and milli amounts are rounded up', () => {
  expect(valueOf(parseQuantity('1.1'))).toBe(2);
  expect(milliValueOf(parseQuantity('1u'))).toBe(1);
});
