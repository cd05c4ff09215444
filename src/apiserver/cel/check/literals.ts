import { tableOf } from '../../../base/own.ts';
import type { Call, Expr } from '../syntax/expr.ts';
import type { Problem } from '../syntax/source.ts';
import { toDuration, toTimestamp } from '../library/conversions.ts';
import { formatFault, verbsOf } from '../library/format-text.ts';
import { regexFault } from '../library/regex.ts';
import { EvalError, type Value } from '../values/value.ts';
import type { Checked } from './checker.ts';
import { dynType, inOptional, sameType, type Type, typeText } from './types.ts';

const throws = (run: () => unknown): boolean => {
  try {
    run();
    return false;
  } catch (reason) {
    if (reason instanceof EvalError) return true;
    throw reason;
  }
};

/** Functions whose first argument is checked if it is a literal. */
const argumentFaults: ReadonlyMap<string, (value: Value) => boolean> = new Map([
  ['duration', (value) => throws(() => toDuration(value))],
  ['timestamp', (value) => throws(() => toTimestamp(value))],
  ['matches', (value) => typeof value === 'string' && regexFault(value) !== undefined],
]);

/** Returns faults of literals that are found before an expression is evaluated: times, patterns, and lists of several types. */
export function literalProblems({ expr, types }: Checked): Problem[] {
  const calls: Problem[] = [];
  const aggregates: Problem[] = [];
  const formats: Problem[] = [];
  const typeOf = ({ id }: Expr): Type => types.get(id) ?? dynType;
  const visit = (one: Expr, isExempt: boolean): void => {
    const inFormat = isExempt || (one.is === 'call' && one.name === 'format');
    if (one.is === 'call') {
      calls.push(...callProblems(one.name, one.args));
      formats.push(...formatProblems(one, typeOf));
    } else if (!isExempt) aggregates.push(...mixtures(one, typeOf));
    for (const inner of childrenOf(one)) visit(inner, inFormat);
  };
  visit(expr, false);
  return [...calls, ...aggregates, ...formats];
}

function callProblems(name: string, [first]: readonly Expr[]): Problem[] {
  if (first?.is !== 'literal' || argumentFaults.get(name)?.(first.value) !== true) return [];
  return [{ at: first.at, message: `invalid ${name} argument` }];
}

const kinds: Readonly<Record<string, readonly Type['kind'][]>> = tableOf({
  d: ['int', 'uint'],
  f: ['double', 'string'],
  e: ['double', 'string'],
  b: ['int', 'uint', 'bool'],
  o: ['int', 'uint'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
  s: 'list map int uint double bool string timestamp bytes duration type null'.split(' ') as Type['kind'][],
});

/** Faults of a format that is a literal, with its arguments in a list. */
function formatProblems({ name, target, args, at }: Call, typeOf: (expr: Expr) => Type): Problem[] {
  const [list] = args;
  const format = name === 'format' && target?.is === 'literal' ? target.value : undefined;
  if (typeof format !== 'string' || list?.is !== 'list') return [];
  try {
    return clauseProblems(verbsOf(format), { at, items: list.items, typeOf });
  } catch (reason) {
    if (reason instanceof EvalError) return [{ at, message: reason.message }];
    throw reason;
  }
}

interface FormatCall {
  readonly at: number;
  readonly items: readonly Expr[];
  readonly typeOf: (expr: Expr) => Type;
}

function clauseProblems(verbs: readonly string[], { at, items, typeOf }: FormatCall): Problem[] {
  for (const [i, verb] of verbs.entries()) {
    const item = items[i];
    if (!item) return [{ at, message: `index ${i} out of range` }];
    const bad = misfit(item, verb, typeOf);
    if (bad) return [{ at: bad.at, message: formatFault(verb, typeOf(bad)) }];
  }
  if (items.length <= verbs.length) return [];
  const counts = `(expected ${verbs.length}, got ${items.length})`;
  return [{ at, message: `too many arguments supplied to string.format ${counts}` }];
}

/** The part of an argument that a clause cannot show. */
function misfit(item: Expr, verb: string, typeOf: (expr: Expr) => Type): Expr | undefined {
  const { kind } = typeOf(item);
  if (kind !== 'dyn' && !(kinds[verb] ?? []).includes(kind)) return item;
  if (verb !== 's' || (item.is !== 'list' && item.is !== 'map')) return undefined;
  for (const inner of childrenOf(item)) {
    const bad = misfit(inner, verb, typeOf);
    if (bad) return bad;
  }
  return undefined;
}

function mixtures(expr: Expr, typeOf: (expr: Expr) => Type): Problem[] {
  if (expr.is === 'list') {
    const items = expr.items.map((item, i) => ({ item, isOptional: expr.optional.has(i) }));
    return mixture(items, typeOf).slice(0, 1);
  }
  if (expr.is !== 'map') return [];
  const keys = expr.entries.map(({ key }) => ({ item: key, isOptional: false }));
  const values = expr.entries.map(({ value, optional }) => ({ item: value, isOptional: optional }));
  return [...mixture(keys, typeOf), ...mixture(values, typeOf)];
}

interface Part {
  readonly item: Expr;
  readonly isOptional: boolean;
}

function mixture(parts: readonly Part[], typeOf: (expr: Expr) => Type): Problem[] {
  const typed = parts.map(({ item, isOptional }) => {
    const type = typeOf(item);
    return { at: item.at, type: isOptional ? (inOptional(type) ?? type) : type };
  });
  const [first] = typed;
  return typed.flatMap(({ at, type }) =>
    first && !sameType(first.type, type)
      ? [{ at, message: `expected type '${typeText(first.type)}' but found '${typeText(type)}'` }]
      : [],
  );
}

/** Returns the nodes right below one. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.is) {
    case 'select':
      return [expr.operand];
    case 'call':
      return [...(expr.target ? [expr.target] : []), ...expr.args];
    case 'list':
      return expr.items;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map(({ value }) => value);
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}
