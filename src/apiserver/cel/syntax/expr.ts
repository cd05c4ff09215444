import type { Value } from '../values/value.ts';

interface Node {
  /** Distinguishes the node from every other of its expression. */
  readonly id: number;
  /** UTF-16 offset of the token that the node is reported at. */
  readonly at: number;
}

export interface Literal extends Node {
  readonly is: 'literal';
  readonly value: Value;
}
export interface Ident extends Node {
  readonly is: 'ident';
  readonly name: string;
}
export interface Select extends Node {
  readonly is: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** True for `has(operand.field)`. */
  readonly test: boolean;
}
export interface Call extends Node {
  readonly is: 'call';
  readonly name: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}
export interface ListExpr extends Node {
  readonly is: 'list';
  readonly items: readonly Expr[];
  /** Indexes of items written with `?`. */
  readonly optional: ReadonlySet<number>;
}
export interface Entry extends Node {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface MapExpr extends Node {
  readonly is: 'map';
  readonly entries: readonly Entry[];
}
export interface FieldInit extends Node {
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface StructExpr extends Node {
  readonly is: 'struct';
  readonly type: string;
  readonly fields: readonly FieldInit[];
}
/** A loop over a list or map; every macro but `has` becomes one. */
export interface Comprehension extends Node {
  readonly is: 'comprehension';
  readonly range: Expr;
  readonly variable: string;
  /** The second variable of a loop over indexes and values, or keys and values. */
  readonly variable2?: string;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A node of a parsed expression, with its macros expanded. */
export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension;

type Body<T extends Node> = Omit<T, 'id' | 'at' | 'is'>;

/** NodeFactory makes nodes with ids of their own. */
export class NodeFactory {
  #last = 0;

  next(): number {
    return ++this.#last;
  }
  literal(at: number, value: Value): Literal {
    return { is: 'literal', id: this.next(), at, value };
  }
  ident(at: number, name: string): Ident {
    return { is: 'ident', id: this.next(), at, name };
  }
  select(at: number, operand: Expr, field: string): Select {
    return { is: 'select', id: this.next(), at, operand, field, test: false };
  }
  call(at: number, name: string, args: readonly Expr[], target?: Expr): Call {
    return { is: 'call', id: this.next(), at, name, args, ...(target && { target }) };
  }
  list(at: number, items: readonly Expr[], optional: ReadonlySet<number> = new Set()): ListExpr {
    return { is: 'list', id: this.next(), at, items, optional };
  }
  map(at: number, entries: readonly Entry[] = []): MapExpr {
    return { is: 'map', id: this.next(), at, entries };
  }
  comprehension(at: number, body: Body<Comprehension>): Comprehension {
    return { is: 'comprehension', id: this.next(), at, ...body };
  }

  /** Returns a copy of a node with new ids at the same places. */
  copy(expr: Expr): Expr {
    const id = this.next();
    switch (expr.is) {
      case 'literal':
      case 'ident':
        return { ...expr, id };
      case 'select':
        return { ...expr, id, operand: this.copy(expr.operand) };
      case 'call':
        return {
          ...expr,
          id,
          args: expr.args.map((one) => this.copy(one)),
          ...(expr.target && { target: this.copy(expr.target) }),
        };
      case 'list':
        return { ...expr, id, items: expr.items.map((one) => this.copy(one)) };
      case 'map':
        return {
          ...expr,
          id,
          entries: expr.entries.map((one) => ({
            ...one,
            id: this.next(),
            key: this.copy(one.key),
            value: this.copy(one.value),
          })),
        };
      case 'struct':
        return {
          ...expr,
          id,
          fields: expr.fields.map((one) => ({ ...one, id: this.next(), value: this.copy(one.value) })),
        };
      case 'comprehension':
        return {
          ...expr,
          id,
          range: this.copy(expr.range),
          init: this.copy(expr.init),
          condition: this.copy(expr.condition),
          step: this.copy(expr.step),
          result: this.copy(expr.result),
        };
    }
  }
}

/** Returns `a.b.c` as its text; undefined for anything but names joined by dots. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.is === 'ident') return expr.name;
  if (expr.is !== 'select' || expr.test) return undefined;
  const left = qualifiedName(expr.operand);
  return left === undefined ? undefined : `${left}.${expr.field}`;
}
