import {
  addQuantities,
  asInt64,
  compareQuantities,
  formatQuantity,
  milliQuantity,
  type Quantity,
  type QuantityFormat,
  quantityOf,
  roundUpQuantity,
  scaledQuantity,
  scaledValue,
  signOfQuantity,
  subQuantities,
  parseQuantity,
  tryParseQuantity,
} from '../../../src/kube/resources/quantity.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly op: string;
  readonly text: string;
  readonly a: string;
  readonly b: string;
  readonly scale: number;
  readonly kind: string;
  readonly n: string;
  readonly format: QuantityFormat;
}

const operations: Readonly<Record<string, (input: Input) => unknown>> = {
  parse: ({ text }) => {
    const quantity = tryParseQuantity(text);
    return typeof quantity === 'string'
      ? { error: quantity }
      : { ...seen(quantity), json: JSON.stringify(formatQuantity(quantity)) };
  },
  add: ({ a, b }) => seen(addQuantities(parseQuantity(a), parseQuantity(b))),
  sub: ({ a, b }) => seen(subQuantities(parseQuantity(a), parseQuantity(b))),
  cmp: ({ a, b }) => {
    const cmp = compareQuantities(parseQuantity(a), parseQuantity(b));
    return { cmp, equal: cmp === 0 };
  },
  scaled: ({ a, scale }) => ({ value: String(scaledValue(parseQuantity(a), scale)) }),
  round: ({ a, scale }) => {
    const [quantity, exact] = roundUpQuantity(parseQuantity(a), scale);
    return { ...seen(quantity), exact };
  },
  new: ({ kind, n, format }) => seen(make(kind, BigInt(n), format)),
};

function make(kind: string, n: bigint, format: QuantityFormat): Quantity {
  if (kind === 'quantity') return quantityOf(n, format);
  return kind === 'milli' ? milliQuantity(n, format) : scaledQuantity(n, -9, format);
}

const seen = (quantity: Quantity): Readonly<Record<string, unknown>> => ({
  asInt64: asInt64(quantity)?.toString(),
  format: quantity.format,
  isZero: quantity.unscaled === 0n,
  milliValue: String(scaledValue(quantity, -3)),
  sign: signOfQuantity(quantity),
  string: formatQuantity(quantity),
  value: String(scaledValue(quantity, 0)),
});

const fits = (text: string, scale: number): boolean => {
  const quantity = tryParseQuantity(text);
  if (typeof quantity === 'string') return true;
  const value = scaledValue(quantity, scale);
  return value < 2n ** 63n && value > -(2n ** 63n);
};

/** Whole and milli values that do not fit 64 bits at nano scale come from wrapping arithmetic in Go: left out (FORMAT.md). */
export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const operation = operations[input.op];
  if (!operation) throw new Error(`unknown operation ${input.op}`);
  const actual = operation(input) as Readonly<Record<string, unknown>>;
  const wraps =
    input.op === 'scaled'
      ? !fits(input.a, Math.min(input.scale, -9))
      : typeof actual['string'] === 'string' && !fits(actual['string'], -9);
  return check(
    out,
    actual,
    { operation: input },
    {
      ignore: (path) => wraps && ['.value', '.milliValue', '.asInt64'].includes(path),
    },
  );
};
