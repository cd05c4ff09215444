import {
  type Call,
  type Comprehension,
  type Expr,
  type ListExpr,
  type MapExpr,
  qualifiedName,
  type Select,
  type StructExpr,
} from '../syntax/expr.ts';
import type { Problem } from '../syntax/source.ts';
import { TypeValue, Uint, type Value } from '../values/value.ts';
import type { Declarations, FunctionDecl, Overload } from './declarations.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  errorType,
  inOptional,
  intType,
  isDyn,
  isDynOrError,
  listType,
  mapType,
  nullType,
  optionalType,
  paramType,
  sameType,
  signatureText,
  stringType,
  type Type,
  typeOfType,
  typeText,
  uintType,
} from './types.ts';
import { mostGeneral, substitute, type Substitutions, unify } from './unify.ts';

/** What a node that calls or names something refers to. */
export type Reference =
  | { readonly to: 'variable'; readonly name: string }
  | { readonly to: 'constant'; readonly value: Value }
  | {
      readonly to: 'function';
      readonly decl: FunctionDecl;
      readonly overloads: readonly Overload[];
      readonly isQualified: boolean;
    };

/** A checked expression. */
export interface Checked {
  readonly expr: Expr;
  /** The type of each node, by its id. */
  readonly types: ReadonlyMap<number, Type>;
  readonly references: ReadonlyMap<number, Reference>;
  readonly problems: readonly Problem[];
}

/** Finds the type of each node and what it refers to. */
export function check(expr: Expr, declarations: Declarations): Checked {
  const checker = new Checker(declarations);
  checker.check(expr);
  return checker.finished(expr);
}

interface Scope {
  readonly names: ReadonlyMap<string, Type>;
  readonly outer: Scope | undefined;
}

const logical = new Set(['_&&_', '_||_']);

/** Checker walks an expression once. Follows cel-go's checker. */
class Checker {
  readonly #declarations: Declarations;
  readonly #types = new Map<number, Type>();
  readonly #references = new Map<number, Reference>();
  readonly #problems: Problem[] = [];
  #substitutions: Substitutions = new Map();
  #scope: Scope | undefined;
  #free = 0;

  constructor(declarations: Declarations) {
    this.#declarations = declarations;
  }

  finished(expr: Expr): Checked {
    const types = new Map(
      [...this.#types].map(([id, type]) => [id, substitute(this.#substitutions, type, true)]),
    );
    return { expr, types, references: this.#references, problems: this.#problems };
  }

  check(expr: Expr): Type {
    const type = this.#checked(expr);
    this.#types.set(expr.id, type);
    return type;
  }

  #checked(expr: Expr): Type {
    switch (expr.is) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return this.#named(expr.id, expr.name) ?? this.#undeclared(expr.at, expr.name);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#comprehension(expr);
    }
  }

  #problem(at: number, message: string): void {
    this.#problems.push({ at, message });
  }
  #undeclared(at: number, name: string): Type {
    this.#problem(at, `undeclared reference to '${name}' (in container '')`);
    return errorType;
  }
  #mismatch(at: number, expected: Type, actual: Type): void {
    this.#problem(at, `expected type '${typeText(expected)}' but found '${typeText(actual)}'`);
  }

  /** The type of a variable or of a type's name; undefined for a name that is not declared. */
  #named(id: number, written: string): Type | undefined {
    const name = written.replace(/^\./, '');
    const local = name === written ? this.#local(name) : undefined;
    const type = local ?? this.#declarations.variable(name);
    if (type) {
      this.#references.set(id, { to: 'variable', name });
      return type;
    }
    const named = this.#declarations.typeNamed(name);
    if (!named) return undefined;
    this.#references.set(id, { to: 'constant', value: new TypeValue(named) });
    return typeOfType(named);
  }

  #local(name: string): Type | undefined {
    for (let scope = this.#scope; scope; scope = scope.outer) {
      const type = scope.names.get(name);
      if (type) return type;
    }
    return undefined;
  }

  #assignable(from: Type, to: Type): boolean {
    const extended = unify(this.#substitutions, [from], [to]);
    if (extended) this.#substitutions = extended;
    return extended !== undefined;
  }
  #freeType(): Type {
    return paramType(`_var${this.#free++}`);
  }
  #resolved(type: Type, freeToDyn = false): Type {
    return substitute(this.#substitutions, type, freeToDyn);
  }

  #select(expr: Select): Type {
    const name = qualifiedName(expr);
    const named = name === undefined || this.#isLocalRoot(expr) ? undefined : this.#named(expr.id, name);
    if (named) return named;
    const type = this.#field(expr, expr.operand, expr.field);
    return expr.test ? boolType : this.#resolved(type);
  }

  #isLocalRoot(expr: Select): boolean {
    let root: Expr = expr;
    while (root.is === 'select') root = root.operand;
    return root.is === 'ident' && this.#local(root.name) !== undefined;
  }

  /** The type of a field of what an operand is; an optional's field is optional. */
  #field({ at }: Expr, operand: Expr, field: string, isOptional = false): Type {
    const operandType = this.#resolved(this.check(operand));
    const inner = inOptional(operandType);
    const type = this.#memberOf(inner ?? operandType, field, at);
    return inner || isOptional ? optionalType(type) : type;
  }

  #memberOf(target: Type, field: string, at: number): Type {
    if (target.kind === 'map') return target.params[1] ?? dynType;
    if (target.kind === 'struct') {
      const type = target.fieldOf?.(field);
      const why = target.fieldOf
        ? `undefined field '${field}'`
        : `unexpected failed resolution of '${target.name}'`;
      if (!type) this.#problem(at, why);
      return type ?? errorType;
    }
    if (target.kind === 'param') this.#assignable(dynType, target);
    else if (!isDynOrError(target))
      this.#problem(at, `type '${typeText(target)}' does not support field selection`);
    return dynType;
  }

  #call(expr: Call): Type {
    if (expr.name === '_?._') return this.#optionalSelect(expr);
    for (const one of expr.args) this.check(one);
    const { name, target } = expr;
    if (!target) {
      const decl = this.#declarations.functionOf(name.replace(/^\./, ''));
      return decl ? this.#resolve(expr, decl) : this.#undeclared(expr.at, name);
    }
    const prefix = qualifiedName(target);
    const qualified = prefix === undefined ? undefined : this.#declarations.functionOf(`${prefix}.${name}`);
    if (qualified) return this.#resolve(expr, qualified);
    this.check(target);
    const decl = this.#declarations.functionOf(name);
    return decl ? this.#resolve(expr, decl, target) : this.#undeclared(expr.at, name);
  }

  #optionalSelect(expr: Call): Type {
    const [operand, field] = expr.args;
    if (!operand || field?.is !== 'literal') return errorType;
    this.#types.set(field.id, stringType);
    const type = this.#field(expr, operand, typeof field.value === 'string' ? field.value : '', true);
    const decl = this.#declarations.functionOf('_?._');
    if (decl)
      this.#references.set(expr.id, { to: 'function', decl, overloads: decl.overloads, isQualified: false });
    return this.#resolved(type);
  }

  /** Finds the overloads that take the arguments of a call. */
  #resolve(expr: Call, decl: FunctionDecl, target?: Expr): Type {
    const operands = target ? [target, ...expr.args] : expr.args;
    const types = operands.map((one) => this.#types.get(one.id) ?? errorType);
    const refer = (overloads: readonly Overload[]): void =>
      void this.#references.set(expr.id, { to: 'function', decl, overloads, isQualified: !target });
    if (logical.has(decl.name)) {
      refer(decl.overloads);
      return this.#logic(expr.args, types);
    }
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const overload of decl.overloads) {
      if (overload.isMember !== (target !== undefined)) continue;
      const own = this.#instance(overload);
      const extended = unify(this.#substitutions, types, own.params);
      if (!extended) continue;
      this.#substitutions = extended;
      fitting.push(overload);
      const type = this.#resolved(own.result);
      if (!result) result = type;
      else if (!isDyn(result) && !sameType(type, result)) result = dynType;
    }
    if (result) {
      refer(fitting);
      return result;
    }
    const shown = types.map((one) => this.#resolved(one, true));
    this.#problem(
      expr.at,
      `found no matching overload for '${decl.name}' applied to '${signatureText(shown, target !== undefined)}'`,
    );
    return errorType;
  }

  #logic(operands: readonly Expr[], types: readonly Type[]): Type {
    let isRight = true;
    for (const [i, type] of types.entries()) {
      if (this.#assignable(type, boolType)) continue;
      this.#mismatch(operands[i]?.at ?? -1, boolType, type);
      isRight = false;
    }
    return isRight ? boolType : errorType;
  }

  /** An overload with type parameters of this call's own. */
  #instance({ params, result }: Overload): Pick<Overload, 'params' | 'result'> {
    const own = new Map<string, Type>();
    const rename = (type: Type): Type => {
      if (type.kind === 'param' && !own.has(type.name)) own.set(type.name, this.#freeType());
      for (const one of type.params) rename(one);
      return type;
    };
    [...params, result].forEach(rename);
    if (own.size === 0) return { params, result };
    return { params: params.map((one) => substitute(own, one)), result: substitute(own, result) };
  }

  /** The type of what a literal holds; mixed ones are refused later, where they are not allowed. */
  #join(previous: Type | undefined, current: Type): Type {
    if (!previous) return current;
    return this.#assignable(previous, current) ? mostGeneral(previous, current) : dynType;
  }

  /** The type of a part written with `?`: what its optional holds. */
  #unwrapped(expr: Expr, type: Type): Type {
    const inner = inOptional(type);
    if (!inner && !isDyn(type)) this.#mismatch(expr.at, optionalType(type), type);
    return inner ?? type;
  }

  #list({ items, optional }: ListExpr): Type {
    let joined: Type | undefined;
    for (const [i, item] of items.entries()) {
      const type = this.check(item);
      joined = this.#join(joined, optional.has(i) ? this.#unwrapped(item, type) : type);
    }
    return listType(joined ?? this.#freeType());
  }

  #map({ entries }: MapExpr): Type {
    let keys: Type | undefined;
    let values: Type | undefined;
    for (const { key, value, optional } of entries) {
      keys = this.#join(keys, this.check(key));
      const type = this.check(value);
      values = this.#join(values, optional ? this.#unwrapped(value, type) : type);
    }
    return mapType(keys ?? this.#freeType(), values ?? this.#freeType());
  }

  #struct({ at, id, type: name, fields }: StructExpr): Type {
    const named = this.#named(id, name);
    if (!named) return this.#undeclared(at, name);
    const type = this.#message(named, at);
    for (const { name: field, value, optional, at: place } of fields) {
      const found = this.check(value);
      const actual = optional ? this.#unwrapped(value, found) : found;
      if (type === errorType) continue;
      const expected = type.fieldOf?.(field);
      if (!expected) this.#problem(place, `undefined field '${field}'`);
      else if (!this.#assignable(expected, actual))
        this.#problem(
          place,
          `expected type of field '${field}' is '${typeText(expected)}' but provided type is '${typeText(actual)}'`,
        );
    }
    return type;
  }

  #message(named: Type, at: number): Type {
    const [type] = named.params;
    if (named.kind !== 'type' || !type) {
      this.#problem(at, `'${typeText(named)}' is not a type`);
      return errorType;
    }
    if (type.kind === 'struct') return type;
    this.#problem(at, `'${typeText(type)}' is not a message type`);
    return errorType;
  }

  #comprehension(expr: Comprehension): Type {
    const range = this.#resolved(this.check(expr.range));
    const accumulated = this.check(expr.init);
    const outer = this.#scope;
    const withResult = { names: new Map([[expr.accumulator, accumulated]]), outer };
    this.#scope = withResult;
    const variables = this.#elements(range, expr);
    this.#scope = { names: variables, outer: withResult };
    this.#assert(expr.condition, boolType);
    this.#assert(expr.step, accumulated);
    this.#scope = withResult;
    const result = this.check(expr.result);
    this.#scope = outer;
    return this.#resolved(result);
  }

  #assert(expr: Expr, type: Type): void {
    const found = this.check(expr);
    if (!this.#assignable(type, found)) this.#mismatch(expr.at, type, found);
  }

  /** The types of a loop's variables. */
  #elements(range: Type, { range: expr, variable, variable2 }: Comprehension): ReadonlyMap<string, Type> {
    const names = (first: Type, second: Type): ReadonlyMap<string, Type> =>
      new Map([[variable, first], ...(variable2 === undefined ? [] : [[variable2, second] as const])]);
    const [first = dynType, second = dynType] = range.params;
    if (range.kind === 'list') return variable2 === undefined ? names(first, first) : names(intType, first);
    if (range.kind === 'map') return names(first, second);
    if (range.kind === 'param' || isDynOrError(range)) {
      this.#assignable(dynType, range);
      return names(dynType, dynType);
    }
    this.#problem(
      expr.at,
      `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    );
    return names(errorType, errorType);
  }
}

function literalType(value: Value): Type {
  if (value === null) return nullType;
  if (value instanceof Uint) return uintType;
  if (value instanceof Uint8Array) return bytesType;
  switch (typeof value) {
    case 'boolean':
      return boolType;
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    default:
      return stringType;
  }
}
