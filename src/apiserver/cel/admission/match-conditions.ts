import { type JsonObject, objectsAt, stringAt } from '../../../apimachinery/json.ts';
import { boolType } from '../check/types.ts';
import { Budget, type Compiled, compileExpression, OutOfBudget } from './expressions.ts';
import { activationOf, admissionDeclarations, type AdmissionInput } from './variables.ts';

/** What the match conditions of one webhook or policy may cost together. */
const conditionBudget = 2_500_000;

/** Whether a request fulfils match conditions. */
export type MatchResult =
  | { readonly matches: true }
  | { readonly matches: false; readonly failedCondition?: string }
  /** Some condition could not be evaluated, and none is false: the failure policy decides. */
  | { readonly matches?: undefined; readonly error: string };

interface Condition {
  readonly name: string;
  readonly compiled: Compiled;
}

const declarations = {
  plain: admissionDeclarations({ authorizer: true }),
  params: admissionDeclarations({ authorizer: true, params: true }),
};

/** Returns why an expression cannot be a match condition; undefined if it can. */
export const matchConditionFault = (expression: string, withParams = false): string | undefined =>
  compileExpression(expression.trim(), withParams ? declarations.params : declarations.plain, [boolType])
    .error;

/** MatchConditions evaluates the compiled `matchConditions` of a webhook or policy. */
export class MatchConditions {
  readonly #conditions: readonly Condition[];

  private constructor(conditions: readonly Condition[]) {
    this.#conditions = conditions;
  }

  /**
   * Compiles `matchConditions`. Conditions that cannot be compiled fail when they are evaluated.
   *
   * @param holder the webhook, or the spec of a policy
   * @example
   * MatchConditions.of(webhook).evaluate({ object, request: { operation: 'CREATE', … } }); // { matches: true }
   */
  static of(holder: JsonObject, withParams = false): MatchConditions {
    const conditions = objectsAt(holder, 'matchConditions').map((one) => ({
      name: stringAt(one, 'name'),
      compiled: compileExpression(
        stringAt(one, 'expression'),
        withParams ? declarations.params : declarations.plain,
        [boolType],
      ),
    }));
    return new MatchConditions(conditions);
  }

  /** Evaluates all conditions: one that is false decides, whatever the others are. */
  evaluate(input: AdmissionInput): MatchResult {
    if (this.#conditions.length === 0) return { matches: true };
    const variables = activationOf(input);
    const budget = new Budget(conditionBudget);
    const errors: string[] = [];
    try {
      for (const { name, compiled } of this.#conditions) {
        const { value, error } = budget.evaluate(compiled, variables);
        if (error !== undefined) errors.push(error);
        else if (value === false) return { matches: false, failedCondition: name };
      }
    } catch (reason) {
      if (!(reason instanceof OutOfBudget)) throw reason;
      return { error: reason.message };
    }
    if (errors.length === 0) return { matches: true };
    const unique = [...new Set(errors)];
    return { error: unique.length === 1 ? (unique[0] ?? '') : `[${unique.join(', ')}]` };
  }
}
