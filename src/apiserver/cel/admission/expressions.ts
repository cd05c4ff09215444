import type { Declarations } from '../check/declarations.ts';
import { sameType, type Type } from '../check/types.ts';
import type { Activation } from '../eval/frame.ts';
import { type Outcome, perCallLimit, Program } from '../program.ts';
import { CompileError } from '../syntax/source.ts';
import { EvalError } from '../values/value.ts';

/** A compiled expression, or why it cannot be compiled. */
export type Compiled =
  | { readonly expression: string; readonly program: Program; readonly error?: undefined }
  | { readonly expression: string; readonly program?: undefined; readonly error: string };

/** Returns a type with its full name, as errors about results show it. */
const nameOf = ({ name, params }: Type): string =>
  params.length === 0 ? name : `${name}(${params.map(nameOf).join(', ')})`;

const instantiation = 'program instantiation failed';

/** Reports whether the error of a compiled expression is that of a constant part, which kube-apiserver calls internal. */
export const isInstantiationError = (error: string): boolean => error.startsWith(instantiation);

/** Compiles an expression of admission; without types it may evaluate to anything. */
export function compileExpression(
  expression: string,
  declarations: Declarations,
  types: readonly Type[] = [],
): Compiled {
  try {
    const program = Program.compile(expression, declarations);
    const { type } = program;
    if (types.length === 0 || types.some((one) => sameType(one, type))) return { expression, program };
    const names = types.map(nameOf);
    const shown = names.length === 1 ? names.join('') : `one of [${names.join(' ')}]`;
    return { expression, error: `must evaluate to ${shown} but got ${nameOf(type)}` };
  } catch (reason) {
    if (reason instanceof CompileError) return { expression, error: `compilation failed: ${reason.message}` };
    if (reason instanceof EvalError) return { expression, error: `${instantiation}: ${reason.message}` };
    throw reason;
  }
}

/** The evaluations of one request cost more than they may. */
export class OutOfBudget extends Error {
  override readonly name = 'OutOfBudget';
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

/** Budget is what the evaluations of one request may cost together. */
export class Budget {
  #left: number;
  constructor(most: number) {
    this.#left = most;
  }

  /** @throws {OutOfBudget} */
  spend(cost: number): void {
    if (cost > this.#left) throw new OutOfBudget();
    this.#left -= cost;
  }

  /** Evaluates an expression that compiles; its error is that of the evaluation. @throws {OutOfBudget} */
  outcome({ program, error = '' }: Compiled, variables: Activation): Outcome {
    const outcome = program?.evaluate(variables, perCallLimit) ?? { error, cost: 0, isCostExceeded: false };
    this.spend(outcome.cost);
    return outcome;
  }

  /** Evaluates an expression; its error is the text that kube-apiserver reports. @throws {OutOfBudget} */
  evaluate(compiled: Compiled, variables: Activation): Outcome {
    if (compiled.error !== undefined)
      return { error: `compilation error: ${compiled.error}`, cost: 0, isCostExceeded: false };
    const outcome = this.outcome(compiled, variables);
    if (outcome.error === undefined) return outcome;
    return { ...outcome, error: `expression '${compiled.expression}' resulted in error: ${outcome.error}` };
  }
}
