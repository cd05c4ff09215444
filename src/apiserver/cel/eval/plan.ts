import type { Checked, Reference } from '../check/checker.ts';
import { accumulatorName } from '../syntax/macros.ts';
import type { Call, Comprehension, Expr, ListExpr, MapExpr, StructExpr } from '../syntax/expr.ts';
import { fits, typeOf } from '../values/inspect.ts';
import {
  ArrayList,
  CelList,
  CelMap,
  EvalError,
  keyOf,
  noOverload,
  Optional,
  PlainMap,
  Struct,
  Uint,
  type Value,
} from '../values/value.ts';
import { compare, equal } from '../values/compare.ts';
import { textOf } from '../values/text.ts';
import { callCost, slowCalls } from '../cost/actual.ts';
import type { Overload } from '../check/declarations.ts';
import { attempt, charged } from './errors.ts';
import type { Frame, Run } from './frame.ts';
import { Attribute, attributeOf, type PlanNode, qualifierOf } from './node.ts';
import { checkPattern } from './patterns.ts';

const listCost = 10;
const mapCost = 30;
const structCost = 40;

const constant = (value: Value): PlanNode => ({ run: () => value, constant: value });

/** Compiles a checked expression. @throws {EvalError} for a constant part that cannot be evaluated */
export function plan(checked: Checked): Run {
  return new Planner(checked).node(checked.expr).run;
}

interface Scope {
  readonly names: ReadonlyMap<string, number>;
  readonly outer: Scope | undefined;
}

type FunctionReference = Extract<Reference, { to: 'function' }>;

/** Functions that convert a constant once. */
const conversions = new Set('bool bytes double duration dyn int string timestamp type uint'.split(' '));

/** Planner turns each node into a function. */
class Planner {
  readonly #checked: Checked;
  #scope: Scope | undefined;
  #slots = 0;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  node(expr: Expr): PlanNode {
    const reference = this.#checked.references.get(expr.id);
    if (reference?.to === 'constant' && expr.is !== 'struct') return constant(reference.value);
    return this.#planned(expr, reference);
  }

  #planned(expr: Expr, reference: Reference | undefined): PlanNode {
    switch (expr.is) {
      case 'literal':
        return constant(expr.value);
      case 'ident':
        return this.#variable(expr.name);
      case 'select':
        return reference?.to === 'variable'
          ? this.#variable(reference.name)
          : this.#select(expr.operand, expr.field, expr.test);
      case 'call':
        return this.#call(expr, reference);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#loop(expr);
    }
  }

  #variable(written: string): PlanNode {
    const name = written.replace(/^\./, '');
    const slot = name === written ? this.#slot(name) : undefined;
    if (slot !== undefined)
      return new Attribute((frame) => {
        const value = frame.slots[slot] as Value | EvalError;
        if (value instanceof EvalError) throw value;
        return value;
      }, 1).node();
    return new Attribute((frame) => {
      const value = frame.variables(name);
      if (value === undefined) throw new EvalError(`no such attribute(s): ${name}`);
      return value;
    }, 1).node();
  }

  #slot(name: string): number | undefined {
    for (let scope = this.#scope; scope; scope = scope.outer) {
      const slot = scope.names.get(name);
      if (slot !== undefined) return slot;
    }
    return undefined;
  }

  #select(operand: Expr, field: string, isTest: boolean): PlanNode {
    const attribute = attributeOf(this.node(operand));
    if (isTest) return attribute.test(field);
    return attribute.with(qualifierOf(constant(field), false)).node();
  }

  #call(expr: Call, reference: Reference | undefined): PlanNode {
    if (reference?.to !== 'function') throw new EvalError(`no such overload: ${expr.name}`);
    const operands = expr.target && !reference.isQualified ? [expr.target, ...expr.args] : expr.args;
    const args = operands.map((one) => this.node(one));
    const [only, ...more] = reference.overloads;
    const id = more.length === 0 && only ? only.id : '';
    checkPattern(reference.decl.name, args);
    return special(reference.decl.name, args, id) ?? this.#function(reference, args);
  }

  #function(reference: FunctionReference, args: readonly PlanNode[]): PlanNode {
    const { decl, overloads } = reference;
    const only = overloads.length === 1 ? overloads[0] : undefined;
    if (only?.id === 'in_list') {
      const member = constantMembership(args);
      if (member) return member;
    }
    const candidates = only ? [only] : decl.overloads.filter((one) => one.params.length === args.length);
    const id = only?.id ?? '';
    const isSlow = slowCalls.has(decl.name);
    const run = (frame: Frame): Value =>
      charged(frame, () => {
        const values = args.map((one) => one.run(frame));
        if (isSlow) frame.afford(callCost(decl.name, id, values, null));
        const result = apply(decl.name, candidates, values);
        frame.spend(callCost(decl.name, id, values, result));
        return result;
      });
    const [first] = args;
    if (conversions.has(decl.name) && args.length === 1 && first?.constant !== undefined)
      return constant(apply(decl.name, candidates, [first.constant]));
    return { run };
  }

  #list({ items, optional }: ListExpr): PlanNode {
    const nodes = items.map((one) => this.node(one));
    const constants = nodes.flatMap(({ constant: value }) => (value === undefined ? [] : [value]));
    if (constants.length === nodes.length && optional.size === 0) return constant(new ArrayList(constants));
    return {
      run: (frame) => {
        const values: Value[] = [];
        for (const [i, node] of nodes.entries()) {
          const value = node.run(frame);
          if (!optional.has(i)) values.push(value);
          else if (!(value instanceof Optional))
            throw new EvalError(
              `cannot initialize optional list element from non-optional value ${textOf(value)}`,
            );
          else if (value.value !== undefined) values.push(value.value);
        }
        frame.spend(listCost);
        return new ArrayList(values);
      },
    };
  }

  #map({ entries }: MapExpr): PlanNode {
    const nodes = entries.map(({ key, value, optional }) => ({
      key: this.node(key),
      value: this.node(value),
      optional,
    }));
    const run = (frame: Frame): Value => {
      const members = new Map<string, readonly [Value, Value]>();
      for (const { key: keyNode, value: valueNode, optional } of nodes) {
        const key = keyNode.run(frame);
        const value = present(valueNode.run(frame), optional, key);
        if (value === undefined) continue;
        members.set(keyOf(key) ?? `v${textOf(key)}`, [key, value]);
      }
      frame.spend(mapCost);
      return PlainMap.of(members);
    };
    const isConstant = nodes.every(
      ({ key, value, optional }) => key.constant !== undefined && value.constant !== undefined && !optional,
    );
    if (!isConstant) return { run };
    return constant(run({ spend: () => undefined } as unknown as Frame));
  }

  #struct(expr: StructExpr): PlanNode {
    const type = this.#checked.types.get(expr.id);
    if (type?.kind !== 'struct') throw new EvalError(`unknown type: ${expr.type}`);
    const nodes = expr.fields.map(({ name, value, optional }) => ({
      name,
      node: this.node(value),
      optional,
    }));
    return {
      run: (frame) => {
        const fields = new Map<string, Value>();
        for (const { name, node, optional } of nodes) {
          const value = present(node.run(frame), optional, name);
          if (value !== undefined) fields.set(name, value);
        }
        frame.spend(structCost);
        return new Struct(type, fields);
      },
    };
  }

  #loop(expr: Comprehension): PlanNode {
    const range = this.node(expr.range);
    const init = this.node(expr.init);
    const outer = this.#scope;
    const accu = this.#slots++;
    const [first, second] = [this.#slots++, this.#slots++];
    const names = new Map([[expr.variable, first]]);
    if (expr.variable2 !== undefined) names.set(expr.variable2, second);
    const withResult: Scope = { names: new Map([[expr.accumulator, accu]]), outer };
    this.#scope = { names, outer: withResult };
    const condition = this.node(expr.condition).run;
    const step = this.node(expr.step).run;
    this.#scope = withResult;
    const result = this.node(expr.result).run;
    this.#scope = outer;
    const isBinding = isBind(expr);
    const slots = { accu, first, second, isPair: expr.variable2 !== undefined };
    return {
      run: (frame) => {
        frame.slots[accu] = attempt(init.run, frame);
        if (!isBinding) iterate(range.run(frame), { frame, slots, condition, step });
        return result(frame);
      },
    };
  }
}

/** Reports whether a loop never runs: it gives a name to a value. */
export const isBind = ({ range, condition, accumulator }: Comprehension): boolean =>
  range.is === 'list' &&
  range.items.length === 0 &&
  condition.is === 'literal' &&
  condition.value === false &&
  accumulator !== accumulatorName;

interface Loop {
  readonly frame: Frame;
  readonly slots: {
    readonly accu: number;
    readonly first: number;
    readonly second: number;
    readonly isPair: boolean;
  };
  readonly condition: Run;
  readonly step: Run;
}

function iterate(range: Value, { frame, slots, condition, step }: Loop): void {
  const once = (first: Value, second: Value): boolean => {
    frame.slots[slots.first] = first;
    frame.slots[slots.second] = second;
    if (attempt(condition, frame) === false) return false;
    frame.slots[slots.accu] = attempt(step, frame);
    return true;
  };
  if (range instanceof CelList) {
    for (let i = 0; i < range.size; i++) {
      const item = range.at(i);
      if (!(slots.isPair ? once(BigInt(i), item) : once(item, item))) return;
    }
  } else if (range instanceof CelMap) {
    for (const key of range.keys()) if (!once(key, slots.isPair ? (range.find(key) ?? null) : key)) return;
  } else
    throw new EvalError(`got 'types.${goNames.get(typeOf(range).name) ?? 'Val'}', expected iterable type`);
}

const goNames: ReadonlyMap<string, string> = new Map([
  ['int', 'Int'],
  ['uint', 'Uint'],
  ['double', 'Double'],
  ['bool', 'Bool'],
  ['string', 'String'],
  ['bytes', 'Bytes'],
  ['null_type', 'Null'],
]);

/** The value of an entry or field; undefined for one that is optional and absent. */
function present(value: Value, isOptional: boolean, key: Value): Value | undefined {
  if (!isOptional) return value;
  if (value instanceof Optional) return value.value;
  throw new EvalError(
    `cannot initialize optional entry '${textOf(key)}' from non-optional value ${textOf(value)}`,
  );
}

/** Functions whose errors do not name what they were applied to, as in cel-go. */
const terse = new Set('_+_ _-_ _*_ _/_ _%_ -_ !_ @in contains startsWith endsWith matches find'.split(' '));
const sized = new Set(['size', 'sort', '@sortByAssociatedKeys']);

/** Applies the first overload that takes the values. @throws {EvalError} */
function apply(name: string, overloads: readonly Overload[], values: readonly Value[]): Value {
  for (const { params, run } of overloads)
    if (run && params.length === values.length && params.every((type, i) => fits(values[i] as Value, type)))
      return run(...values);
  if (terse.has(name)) throw noOverload();
  const types = values.map((one) => typeOf(one).name).join(', ');
  throw new EvalError(`no such overload: ${name}${sized.has(name) ? '' : `(${types})`}`);
}

/** Returns the node of an operator that is no plain function; undefined for any other call. */
function special(name: string, args: readonly PlanNode[], id: string): PlanNode | undefined {
  const [a, b, c] = args as [PlanNode, PlanNode, PlanNode];
  switch (name) {
    case '_&&_':
      return logic(args, false);
    case '_||_':
      return logic(args, true);
    case '_?_:_':
      return conditional(a, b, c);
    case '_==_':
    case '_!=_':
      return equality(name, a, b);
    case '@not_strictly_false':
      return { run: (frame) => notStrictlyFalse(a, frame) };
    case '_[_]':
      return attributeOf(a).with(qualifierOf(b, false)).node();
    case '_[?_]':
    case '_?._':
      return attributeOf(a).with(qualifierOf(b, true)).node();
    case 'or':
    case 'orValue':
      return alternative(name, a, b);
    default:
      return ordering(name, id, a, b);
  }
}

/** `&&` and `||`: one side that decides absorbs an error of the other. */
function logic(args: readonly PlanNode[], deciding: boolean): PlanNode {
  return {
    run: (frame) => {
      let error: EvalError | undefined;
      for (const { run } of args) {
        const value = attempt(run, frame);
        if (value === deciding) return deciding;
        if (typeof value !== 'boolean') error ??= value instanceof EvalError ? value : noOverload();
      }
      if (error) throw error;
      return !deciding;
    },
  };
}

function conditional(condition: PlanNode, yes: PlanNode, no: PlanNode): PlanNode {
  const branch = ({ run, attribute }: PlanNode): Run =>
    attribute ? (frame) => attribute.resolve(frame) : run;
  const [whenTrue, whenFalse] = [branch(yes), branch(no)];
  return new Attribute((frame) => {
    const value = condition.run(frame);
    if (typeof value !== 'boolean') throw noOverload();
    return value ? whenTrue(frame) : whenFalse(frame);
  }, 0).node();
}

/** `or` and `orValue`: the other is evaluated only where the optional has no value. */
function alternative(name: 'or' | 'orValue', first: PlanNode, other: PlanNode): PlanNode {
  return {
    run: (frame) => {
      const value = first.run(frame);
      if (!(value instanceof Optional)) return value;
      if (value.value === undefined) return other.run(frame);
      return name === 'or' ? value : value.value;
    },
  };
}

function equality(name: '_==_' | '_!=_', left: PlanNode, right: PlanNode): PlanNode {
  const id = name === '_==_' ? 'equals' : 'not_equals';
  return {
    run: (frame) => {
      return charged(frame, () => {
        const values = [left.run(frame), right.run(frame)] as const;
        const result = equal(...values) === (name === '_==_');
        frame.spend(callCost(name, id, values, result));
        return result;
      });
    },
  };
}

function notStrictlyFalse({ run }: PlanNode, frame: Frame): Value {
  const value = attempt(run, frame);
  frame.spend(1);
  return value !== false;
}

const orders: ReadonlyMap<string, (order: number) => boolean> = new Map([
  ['_<_', (order) => order < 0],
  ['_<=_', (order) => order <= 0],
  ['_>_', (order) => order > 0],
  ['_>=_', (order) => order >= 0],
]);
function ordering(name: string, id: string, left: PlanNode, right: PlanNode): PlanNode | undefined {
  const holds = orders.get(name);
  if (!holds) return undefined;
  return {
    run: (frame) => {
      return charged(frame, () => {
        const values = [left.run(frame), right.run(frame)] as const;
        const result = holds(compare(...values));
        frame.spend(callCost(name, id, values, result));
        return result;
      });
    },
  };
}

const isPrimitive = (value: Value): boolean =>
  ['string', 'bigint', 'number', 'boolean'].includes(typeof value) || value instanceof Uint;

/** `x in [1, 2]` with constants: a look-up that costs nothing beside its operand. */
function constantMembership([item, list]: readonly PlanNode[]): PlanNode | undefined {
  if (!item || !(list?.constant instanceof CelList)) return undefined;
  if (list.constant.size === 0) return constant(false);
  const values = [...list.constant];
  if (!values.every(isPrimitive)) return undefined;
  const keys = new Set(values.map(keyOf));
  return {
    run: (frame) => {
      const key = keyOf(item.run(frame));
      return key !== undefined && keys.has(key);
    },
  };
}
