import type { EvalError, Value } from '../values/value.ts';

/** An evaluation that was ended since it cost too much; nothing in the expression absorbs it. */
export class CostExceeded extends Error {
  override readonly name = 'CostExceeded';
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Values of variables by name; undefined: the variable has none. */
export type Activation = (name: string) => Value | undefined;

/** Frame is the state of one evaluation: variables of loops, and what it has cost. */
export class Frame {
  readonly variables: Activation;
  /** Values of the loops' variables, each at an index that was given out when the expression was compiled. */
  readonly slots: (Value | EvalError)[] = [];
  readonly #limit: number;
  cost = 0;

  constructor(variables: Activation, limit: number) {
    this.variables = variables;
    this.#limit = limit;
  }

  /** Ends the evaluation before a call that costs more than is left. @throws {CostExceeded} */
  afford(cost: number): void {
    if (this.cost + cost > this.#limit) throw new CostExceeded();
  }

  /** Adds to the cost. @throws {CostExceeded} */
  spend(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#limit) throw new CostExceeded();
  }
}

/** A compiled node. */
export type Run = (frame: Frame) => Value;
