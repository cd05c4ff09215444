import type { Checked } from '../check/checker.ts';
import { dynType, inOptional, type Type } from '../check/types.ts';
import { isBind } from '../eval/plan.ts';
import type { Call, Comprehension, Expr, ListExpr, MapExpr, Select } from '../syntax/expr.ts';
import { accumulatorName } from '../syntax/macros.ts';
import { sizeOf } from '../values/inspect.ts';
import { listCreateCost, structCreateCost } from './actual.ts';
import { callEstimate, type Estimated, type Operand } from './call-estimates.ts';
import { add, exactly, mostCost, multiply, type Range, union, unknownSize } from './sizes.ts';

const mapCreateCost = 30;

/**
 * Returns the most that a value can hold, by where it is: a variable, then fields, `@items`, `@keys` and `@values`. Undefined: not known.
 */
export type SizeAt = (path: readonly string[]) => number | undefined;

/** Estimates what an evaluation costs at least and at most. Follows cel-go's `checker.Cost` with Kubernetes' own costs. */
export function estimateCost(checked: Checked, sizeAt: SizeAt = () => undefined): Range {
  return new Estimator(checked, sizeAt).cost(checked.expr);
}

/** The sizes of what a list or map holds. */
interface Entries {
  readonly of: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly path: readonly string[];
  readonly size?: Range | undefined;
  readonly entries?: Entries | undefined;
}

const isScalar = (type: Type): boolean => {
  const inner = inOptional(type);
  if (inner) return isScalar(inner);
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind);
};

const indexing = new Set(['index_list', 'index_map']);

/** Estimator walks an expression once and remembers sizes and places of its nodes. */
class Estimator {
  readonly #checked: Checked;
  readonly #sizeAt: SizeAt;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, Range>();
  readonly #entries = new Map<number, Entries>();
  readonly #locals = new Map<string, Local[]>();

  constructor(checked: Checked, sizeAt: SizeAt) {
    this.#checked = checked;
    this.#sizeAt = sizeAt;
  }

  cost(expr: Expr): Range {
    switch (expr.is) {
      case 'literal':
        return exactly(0);
      case 'ident':
        this.#paths.set(expr.id, this.#local(expr.name)?.path ?? [expr.name]);
        return exactly(1);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return add(...expr.fields.map(({ value }) => this.cost(value)), exactly(structCreateCost));
      case 'comprehension':
        return isBind(expr) ? this.#bind(expr) : this.#loop(expr);
    }
  }

  #type(expr: Expr): Type {
    return this.#checked.types.get(expr.id) ?? dynType;
  }
  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }
  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name) ?? [];
    stack.push(local);
    this.#locals.set(name, stack);
  }
  #pop(name: string | undefined): void {
    if (name !== undefined) this.#locals.get(name)?.pop();
  }
  #path(expr: Expr): readonly string[] {
    const local = expr.is === 'ident' ? this.#local(expr.name) : undefined;
    return local?.path ?? this.#paths.get(expr.id) ?? [];
  }

  #select(expr: Select): Range {
    if (this.#checked.references.get(expr.id)?.to === 'variable') {
      this.#paths.set(expr.id, [expr.field]);
      return exactly(1);
    }
    const operand = this.cost(expr.operand);
    if (expr.test) return operand;
    this.#paths.set(expr.id, [...this.#path(expr.operand), expr.field]);
    const { kind } = this.#type(expr.operand);
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(operand, exactly(1)) : operand;
  }

  #operand(expr: Expr): Operand {
    const path = this.#path(expr);
    const isOwn = path[0] === accumulatorName;
    return { expr, type: this.#type(expr), path: isOwn ? [] : path, size: this.size(expr) };
  }

  #call(expr: Call): Range {
    const { args, name } = expr;
    const [first] = args;
    if (name === 'dyn' && first) return this.#dyn(expr, first);
    const costs = args.map((one) => this.cost(one));
    const operands = args.map((one) => this.#operand(one));
    const reference = this.#checked.references.get(expr.id);
    if (reference?.to !== 'function') return exactly(0);
    const target = reference.isQualified ? undefined : expr.target;
    const targetCost = target ? this.cost(target) : exactly(0);
    const shape = { name: reference.decl.name, target: target && this.#operand(target), args: operands };
    let cost: Range = { min: mostCost, max: 0 };
    let size: Range | undefined;
    for (const { id } of reference.overloads) {
      const estimated = this.#estimated(expr, { ...shape, id }, costs);
      cost = union(cost, estimated.cost);
      size = unionOf(size, estimated.size);
      if (indexing.has(id)) size = this.#indexed(expr, first, id);
      size ??= this.size(expr);
    }
    this.#set(expr, size);
    return add(targetCost, cost);
  }

  #dyn(expr: Call, inner: Expr): Range {
    const cost = this.cost(inner);
    this.#copy(expr, inner);
    return add(exactly(1), cost);
  }

  #indexed(expr: Call, container: Expr | undefined, id: string): Range | undefined {
    if (!container) return undefined;
    this.#paths.set(expr.id, [...this.#path(container), id === 'index_list' ? '@items' : '@values']);
    return this.#entriesOf(container)?.value;
  }

  #estimated(expr: Call, call: Parameters<typeof callEstimate>[0], costs: readonly Range[]): Estimated {
    const special = callEstimate(call, (operand) => operand.size ?? this.#sizeOfPath(operand.path));
    if (special) return { ...special, cost: add(special.cost, ...costs) };
    const [first = exactly(0), second = exactly(0), third = exactly(0)] = costs;
    if (call.id === 'logical_and' || call.id === 'logical_or')
      return { cost: { min: first.min, max: add(first, second).max } };
    if (call.id === 'conditional') return this.#conditional(expr, [first, second, third]);
    if (call.id === 'add_list') return this.#concatenation(expr, costs);
    if (call.id === 'add_string' || call.id === 'add_bytes') {
      const size = add(this.#sizeOr(expr.args[0]), this.#sizeOr(expr.args[1]));
      return {
        size,
        cost: add({ min: Math.ceil(size.min * 0.1), max: Math.ceil(size.max * 0.1) }, ...costs),
      };
    }
    return { cost: add(exactly(1), ...costs) };
  }

  #conditional(expr: Call, [condition, yes, no]: readonly [Range, Range, Range]): Estimated {
    const [, whenTrue, whenFalse] = expr.args;
    this.#join(expr, whenTrue, whenFalse);
    return {
      cost: add(condition, union(yes, no)),
      size: union(this.#sizeOr(whenTrue), this.#sizeOr(whenFalse)),
    };
  }

  #concatenation(expr: Call, costs: readonly Range[]): Estimated {
    const [left, right] = expr.args;
    this.#join(expr, left, right);
    return { cost: add(exactly(1), ...costs), size: add(this.#sizeOr(left), this.#sizeOr(right)) };
  }

  /** Remembers that a node holds what two others do. */
  #join(expr: Expr, a: Expr | undefined, b: Expr | undefined): void {
    const [left, right] = [a && this.#entriesOf(a), b && this.#entriesOf(b)];
    if (left && right)
      this.#entries.set(expr.id, {
        of: left.of,
        key: union(left.key, right.key),
        value: union(left.value, right.value),
      });
  }

  #sizeOr(expr: Expr | undefined): Range {
    return (expr && this.size(expr)) ?? unknownSize;
  }

  /** The sizes of several nodes together. */
  #sizesOf(exprs: readonly Expr[]): Range {
    const start: Range = { min: exprs.length === 0 ? 0 : mostCost, max: 0 };
    return exprs.reduce((range, expr) => union(range, this.#sizeOr(expr)), start);
  }

  #list({ id, items }: ListExpr): Range {
    const costs = items.map((one) => this.cost(one));
    this.#entries.set(id, { of: 'list', key: exactly(1), value: this.#sizesOf(items) });
    return add(...costs, exactly(listCreateCost));
  }

  #map({ id, entries }: MapExpr): Range {
    const costs = entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
    const key = this.#sizesOf(entries.map((one) => one.key));
    const value = this.#sizesOf(entries.map((one) => one.value));
    this.#entries.set(id, { of: 'map', key, value });
    return add(...costs, exactly(mapCreateCost));
  }

  #loop(expr: Comprehension): Range {
    const { range, init, accumulator, variable, variable2 } = expr;
    const before = add(this.cost(range), this.cost(init));
    this.#push(accumulator, {
      path: this.#path(init),
      size: this.size(init),
      entries: this.#entriesOf(init),
    });
    this.#pushVariables(expr);
    const each = add(this.cost(expr.step), this.cost(expr.condition));
    this.#pop(variable);
    this.#pop(variable2);
    const result = this.cost(expr.result);
    this.#pop(accumulator);
    const count = this.#sizeOr(range);
    if (init.is === 'literal') this.#set(expr, this.size(init));
    else if (init.is === 'list' || init.is === 'map') {
      this.#set(expr, count);
      const entries = this.#entriesOf(expr.step);
      if (entries) this.#entries.set(expr.id, entries);
    }
    return add(before, result, multiply(count, each));
  }

  #pushVariables({ range, variable, variable2 }: Comprehension): void {
    const entries = this.#entriesOf(range);
    const isList = (entries?.of ?? this.#type(range).kind) === 'list';
    const path = this.#path(range);
    const keys = { path: [...path, isList ? '@indices' : '@keys'], size: entries?.key };
    const values = { path: [...path, isList ? '@items' : '@values'], size: entries?.value };
    if (variable2 === undefined) this.#push(variable, isList ? values : keys);
    else {
      this.#push(variable, keys);
      this.#push(variable2, values);
    }
  }

  #bind({ id, is, at, range, init, accumulator, result, ...rest }: Comprehension): Range {
    const before = add(this.cost(range), this.cost(init));
    this.#push(accumulator, {
      path: this.#path(init),
      size: this.size(init),
      entries: this.#entriesOf(init),
    });
    const cost = this.cost(result);
    this.#pop(accumulator);
    this.#copy({ id, is, at, range, init, accumulator, result, ...rest }, result);
    return add(before, cost);
  }

  #set(expr: Expr, size: Range | undefined): void {
    if (size) this.#sizes.set(expr.id, size);
  }
  #copy(to: Expr, from: Expr): void {
    this.#set(to, this.size(from));
    const entries = this.#entriesOf(from);
    if (entries) this.#entries.set(to.id, entries);
  }
  #entriesOf(expr: Expr): Entries | undefined {
    return this.#entries.get(expr.id) ?? (expr.is === 'ident' ? this.#local(expr.name)?.entries : undefined);
  }

  #sizeOfPath(path: readonly string[]): Range | undefined {
    const most = path.length === 0 ? undefined : this.#sizeAt(path);
    return most === undefined ? undefined : { min: 0, max: most };
  }

  /** The size of what a node evaluates to; undefined: not known. */
  size(expr: Expr): Range | undefined {
    const cached = this.#sizes.get(expr.id) ?? literalSize(expr);
    if (cached) return cached;
    const atPath = this.#sizeOfPath(this.#path(expr));
    if (atPath) {
      this.#sizes.set(expr.id, atPath);
      return atPath;
    }
    if (isScalar(this.#type(expr))) return exactly(1);
    return expr.is === 'ident' ? this.#local(expr.name)?.size : undefined;
  }
}

const unionOf = (a: Range | undefined, b: Range | undefined): Range | undefined =>
  a && b ? union(a, b) : (a ?? b);

function literalSize(expr: Expr): Range | undefined {
  if (expr.is === 'literal') return exactly(sizeOf(expr.value));
  if (expr.is === 'list') return exactly(expr.items.length);
  return expr.is === 'map' ? exactly(expr.entries.length) : undefined;
}
