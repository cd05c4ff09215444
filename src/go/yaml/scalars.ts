import { type ScalarTag } from 'yaml';

/** Parses a plain scalar as a number like Go: integers in any base of Go's syntax, with `_` between digits. Follows go-yaml `resolve`. */
function numberOf(text: string): number | undefined {
  const special = specials.exec(text);
  if (special) return special[2] === undefined ? NaN : special[1] === '-' ? -Infinity : Infinity;
  if (text.startsWith('.')) return /^\.\d+(?:[eE][-+]?\d+)?$/.test(text) ? finite(Number(text)) : undefined;
  if (!/^[-+\d]/.test(text)) return undefined;
  const plain = text.replaceAll('_', '');
  return wholeNumber(plain) ?? (fraction.test(plain) ? finite(Number(plain)) : undefined);
}

const specials = /^(?:([-+]?)\.(inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const fraction = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const whole = /^([-+]?)(0[xX][\dA-Fa-f]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/;

function wholeNumber(plain: string): number | undefined {
  const [, sign, digits] = whole.exec(plain) ?? [];
  if (digits === undefined) return undefined;
  const value = Number(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return sign === '-' ? 0 - value : value;
}

/** A number that is too large becomes text. */
const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const numberTag = (tag: string, isOne: (value: number | undefined) => boolean): ScalarTag => ({
  tag,
  default: true,
  test: { test: (text: string) => isOne(numberOf(text)) } as RegExp,
  resolve: (text) => numberOf(text) ?? text,
});

/** Number tags with the semantics of Kubernetes' reader; they replace those of the YAML library. */
export const numberTags: readonly ScalarTag[] = [
  numberTag('tag:yaml.org,2002:int', Number.isInteger),
  numberTag('tag:yaml.org,2002:float', (value) => value !== undefined),
];

/** Returns the first value that JSON cannot represent, by its Go name. */
export function unsupportedNumber(value: unknown): string | undefined {
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return 'NaN';
    return Number.isFinite(value) ? undefined : value > 0 ? '+Inf' : '-Inf';
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [, inner] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const found = unsupportedNumber(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
