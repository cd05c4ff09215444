import { ownMember, tableOf } from '../../base/own.ts';
import { goFloat, isGoInteger } from '../../go/go-float.ts';
import { badValue, type Findings } from './value-findings.ts';
import type { Structural } from './structural.ts';

/** What numbers are judged by. */
export interface NumberRules {
  readonly schema: Structural;
  /** `integer`, `number`, or empty where the schema has not exactly one type. */
  readonly type: string;
  /** Empty where the type does not have the format. */
  readonly format: string;
  readonly path: string;
}

/** The largest numbers of formats, by type and format; those of integers have as many negative ones and one more. */
const largest: Readonly<Record<string, number>> = tableOf({
  'integer int32': 2 ** 31 - 1,
  'number float': 3.402_823_466_385_288_6e38,
});

/** Reports whether a type and format have a number. */
function isWithin(value: number, { type, format }: NumberRules): boolean {
  const most = ownMember(largest, `${type} ${format}`);
  if (type !== 'integer') return most === undefined || Math.abs(value) <= most;
  if (!isGoInteger(value)) return false;
  return most === undefined || (value <= most && value >= -most - 1);
}

/** Adds a fault unless the type has the number. */
function judgeRange(value: number, what: string, rules: NumberRules, findings: Findings): boolean {
  if (isWithin(value, rules)) return true;
  const { type, format, path } = rules;
  const shown = format === '' ? '(default format)' : `with format ${format}`;
  findings.say(`${what} value must be of type ${type} ${shown} in ${path}`);
  return false;
}

/** A limit as it is compared and shown. */
interface Limit {
  readonly limit: number;
  readonly shown: string;
  /** Whether the value is shown as a float64 too. */
  readonly isFloat: boolean;
}

/** Returns a limit: of an integer without its fraction, unless the type does not have it. */
function limitOf(value: number, limit: number, fits: boolean): Limit {
  const isWhole = fits && isGoInteger(value);
  const cut = isWhole ? Math.trunc(limit) : limit;
  return { limit: cut, shown: isWhole ? String(cut) : goFloat(cut), isFloat: !isWhole };
}

function judgeMultiple(value: number, factor: number, rules: NumberRules, findings: Findings): void {
  const { limit, shown, isFloat } = limitOf(value, factor, judgeRange(factor, 'MultipleOf', rules, findings));
  const { path } = rules;
  if (limit <= 0) {
    const why = `factor MultipleOf declared for ${path} must be positive: ${shown}`;
    findings.add(path, badValue(limit, why, isFloat));
    return;
  }
  const isMultiple = isFloat
    ? isWholeNumber(limit < 1 ? (1 / limit) * value : value / limit)
    : value % limit === 0;
  if (!isMultiple)
    findings.add(path, badValue(value, `${path} in body should be a multiple of ${shown}`, isFloat));
}

/** Reports whether a quotient counts as whole: it may be off by a billionth. */
function isWholeNumber(value: number): boolean {
  const whole = Math.round(value);
  return Number.isSafeInteger(whole) && Math.abs(value - whole) <= 1e-9 * Math.abs(whole);
}

/**
 * Adds what is wrong with a number: multiples, minimum, maximum. Follows kube-openapi's `numberValidator`.
 */
export function judgeNumber(value: number, rules: NumberRules, findings: Findings): void {
  const { schema, path } = rules;
  judgeRange(value, 'Checked', rules, findings);
  if (typeof schema['multipleOf'] === 'number') judgeMultiple(value, schema['multipleOf'], rules, findings);
  const bounds = [
    { limit: schema['minimum'], isOut: schema['exclusiveMinimum'] === true, what: 'Minimum', sign: -1 },
    { limit: schema['maximum'], isOut: schema['exclusiveMaximum'] === true, what: 'Maximum', sign: 1 },
  ];
  for (const { limit: declared, isOut, what, sign } of bounds) {
    if (typeof declared !== 'number') continue;
    const fits = judgeRange(declared, `${what} boundary`, rules, findings);
    const { limit, shown, isFloat } = limitOf(value, declared, fits);
    const over = (value - limit) * sign;
    if (isOut ? over < 0 : over <= 0) continue;
    const words = `${sign > 0 ? 'less' : 'greater'} than${isOut ? '' : ' or equal to'}`;
    findings.add(path, badValue(value, `${path} in body should be ${words} ${shown}`, isFloat));
  }
  findings.matches++;
}
