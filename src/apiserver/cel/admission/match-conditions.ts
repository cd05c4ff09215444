import { type JsonObject, objectsAt, stringAt } from '../../../apimachinery/json.ts';
import type { Declarations } from '../check/declarations.ts';
import { boolType } from '../check/types.ts';
import type { Activation } from '../eval/frame.ts';
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

const webhookDeclarations = admissionDeclarations({ authorizer: true });

/** Returns why an expression cannot be a match condition; undefined if it can. */
export const matchConditionFault = (expression: string): string | undefined =>
  compileExpression(expression.trim(), webhookDeclarations, [boolType]).error;

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
   * @param declarations what the conditions may refer to; absent: what those of webhooks may
   * @example
   * MatchConditions.of(webhook).evaluate({ object, request: { operation: 'CREATE', … } }); // { matches: true }
   */
  static of(holder: JsonObject, declarations: Declarations = webhookDeclarations): MatchConditions {
    const conditions = objectsAt(holder, 'matchConditions').map((one) => ({
      name: stringAt(one, 'name'),
      compiled: compileExpression(stringAt(one, 'expression'), declarations, [boolType]),
    }));
    return new MatchConditions(conditions);
  }

  /** Evaluates all conditions: one that is false decides, whatever the others are. */
  evaluate(input: AdmissionInput): MatchResult {
    return this.#conditions.length === 0 ? { matches: true } : this.evaluateWith(activationOf(input));
  }

  /** Evaluates all conditions with the variables of a policy. */
  evaluateWith(variables: Activation): MatchResult {
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
