import { Optional, type Value, none } from '../values/value.ts';
import type { Frame, Run } from './frame.ts';
import { select, selectIfPresent } from './qualify.ts';

/** What follows a variable or another value: a field, a key or an index. */
interface Qualifier {
  /** Returns the key; its cost is added. */
  readonly key: Run;
  readonly isOptional: boolean;
  /** What the step itself costs. */
  readonly cost: number;
}

/** A compiled node. */
export interface PlanNode {
  readonly run: Run;
  /** The value of a node that is always the same. */
  readonly constant?: Value;
  /** Present for variables, fields and the like. */
  readonly attribute?: Attribute;
}

/** Attribute is a value with the fields, keys and indexes that are selected from it, one after another. */
export class Attribute {
  readonly #root: Run;
  readonly #qualifiers: readonly Qualifier[];
  /** What evaluating the whole costs beside its parts. */
  readonly cost: number;

  constructor(root: Run, cost: number, qualifiers: readonly Qualifier[] = []) {
    this.#root = root;
    this.cost = cost;
    this.#qualifiers = qualifiers;
  }

  with(qualifier: Qualifier): Attribute {
    return new Attribute(this.#root, this.cost, [...this.#qualifiers, qualifier]);
  }

  /** Evaluates without the attribute's own cost: that is how an attribute is part of another node. */
  resolve(frame: Frame): Value {
    let value = this.#root(frame);
    if (this.#qualifiers.length === 0) return value;
    let isOptional = false;
    if (value instanceof Optional) {
      if (value.value === undefined) return none;
      value = value.value;
      isOptional = true;
    }
    for (const qualifier of this.#qualifiers) {
      isOptional ||= qualifier.isOptional;
      const key = qualifier.key(frame);
      if (!isOptional) value = select(value, key);
      else {
        const found = selectIfPresent(value, key);
        if (found === undefined) return none;
        value = found;
      }
      frame.spend(qualifier.cost);
    }
    return isOptional ? new Optional(value) : value;
  }

  node(): PlanNode {
    return {
      attribute: this,
      run: (frame) => {
        const value = this.resolve(frame);
        frame.spend(this.cost);
        return value;
      },
    };
  }

  /** Returns a node that tests whether a field is there. */
  test(field: string): PlanNode {
    return {
      run: (frame) => {
        let value = this.resolve(frame);
        if (value instanceof Optional) {
          if (value.value === undefined) return false;
          value = value.value;
        }
        frame.spend(1);
        return selectIfPresent(value, field) !== undefined;
      },
    };
  }
}

/** Returns the attribute of a node; any other node becomes the root of one. */
export const attributeOf = (node: PlanNode): Attribute => node.attribute ?? new Attribute(node.run, 1);

/** Returns the step that selects by what a node evaluates to. */
export function qualifierOf(node: PlanNode, isOptional: boolean): Qualifier {
  const { attribute, constant } = node;
  if (constant !== undefined) return { key: () => constant, isOptional, cost: 1 };
  if (!attribute) return { key: node.run, isOptional, cost: 1 };
  return { key: (frame) => attribute.resolve(frame), isOptional, cost: attribute.cost };
}
