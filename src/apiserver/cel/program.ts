import { type Checked, check } from './check/checker.ts';
import { Declarations } from './check/declarations.ts';
import { literalProblems } from './check/literals.ts';
import { dynType, type Type } from './check/types.ts';
import { type Activation, CostExceeded, Frame, type Run } from './eval/frame.ts';
import { plan } from './eval/plan.ts';
import { addresses } from './library/addresses.ts';
import { authorization } from './library/authorizer.ts';
import { lists } from './library/lists.ts';
import { namedFormats } from './library/named-formats.ts';
import { operators } from './library/operators.ts';
import { optionals } from './library/optionals.ts';
import { quantities } from './library/quantities.ts';
import { standard } from './library/standard.ts';
import { strings } from './library/strings.ts';
import { urls } from './library/urls.ts';
import { versions } from './library/versions.ts';
import { parse } from './syntax/parser.ts';
import { CompileError } from './syntax/source.ts';
import { EvalError, type Value } from './values/value.ts';

/** What every expression of Kubernetes 1.36 may use, without variables. */
export const kubernetes: Declarations = Declarations.of([
  operators,
  standard,
  strings,
  lists,
  optionals,
  urls,
  quantities,
  addresses,
  namedFormats,
  versions,
  authorization,
]);

/** What one evaluation may cost, as kube-apiserver limits it. */
export const perCallLimit = 1_000_000;

/** How an evaluation ended. */
export type Outcome = { readonly cost: number } & (
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string; readonly isCostExceeded: boolean }
);

/**
 * Program is a checked expression, ready to be evaluated.
 *
 * @example
 * const program = Program.compile('replicas <= 5', kubernetes.with({ replicas: intType }));
 * program.evaluate((name) => (name === 'replicas' ? 3n : undefined)).value; // true
 */
export class Program {
  readonly checked: Checked;
  readonly #run: Run;

  private constructor(checked: Checked, run: Run) {
    this.checked = checked;
    this.#run = run;
  }

  /**
   * Parses, checks and plans an expression.
   *
   * @throws {CompileError} with every fault of its text or types
   * @throws {EvalError} for a constant part that cannot be evaluated
   */
  static compile(text: string, declarations: Declarations): Program {
    const checked = check(parse(text).expr, declarations);
    if (checked.problems.length > 0) throw new CompileError(text, checked.problems);
    const literals = literalProblems(checked);
    if (literals.length > 0) throw new CompileError(text, literals);
    return new Program(checked, plan(checked));
  }

  /** The type of the result. */
  get type(): Type {
    return this.checked.types.get(this.checked.expr.id) ?? dynType;
  }

  /** Reports whether the expression refers to a variable. */
  uses(variable: string): boolean {
    return [...this.checked.references.values()].some(
      (one) => one.to === 'variable' && one.name === variable,
    );
  }

  /** Evaluates with the values of variables. */
  evaluate(variables: Activation, limit: number = perCallLimit): Outcome {
    const frame = new Frame(variables, limit);
    try {
      return { value: this.#run(frame), cost: frame.cost };
    } catch (reason) {
      if (reason instanceof EvalError)
        return { error: reason.message, cost: frame.cost, isCostExceeded: false };
      // a RangeError: a text became longer than the machine can hold
      if (!(reason instanceof CostExceeded || reason instanceof RangeError)) throw reason;
      return { error: new CostExceeded().message, cost: frame.cost, isCostExceeded: true };
    }
  }
}
