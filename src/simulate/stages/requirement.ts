import type { KubeObject } from '../../kube/types.ts';
import type { Expression } from '../expressions/expressions.ts';
import type { Filter } from './jq-functions.ts';

/** A condition on an object. */
export interface Requirement {
  /** Whether only members decide that do not change while the object lives. */
  readonly isLasting: boolean;
  holds(object: KubeObject): boolean;
}

/** How the outputs of an expression of jq are compared. */
export const requirementOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** An expression of jq with its operator and values. */
export interface JqCondition {
  readonly key: string;
  readonly filter: Filter;
  readonly operator: (typeof requirementOperators)[number];
  readonly values: readonly string[];
}

/** A path below metadata or spec that does not change while the object lives. */
const lastingPath = /^\.(?:spec\b|metadata\.(?:labels|annotations|ownerReferences|name|namespace)\b)/;

/** Returns a condition by jq. Outputs that are null count as absent, as a path that is not there has the output null. */
export const jqRequirement = (condition: JqCondition): Requirement => ({
  isLasting: lastingPath.test(condition.key),
  holds: (object) => {
    const { filter, operator, values } = condition;
    const outputs = filter(object).filter((value) => value !== null && value !== undefined);
    const isIn = outputs.some((value) =>
      values.includes(typeof value === 'string' ? value : JSON.stringify(value)),
    );
    switch (operator) {
      case 'In':
        return isIn;
      case 'NotIn':
        return !isIn;
      case 'Exists':
        return outputs.length > 0;
      case 'DoesNotExist':
        return outputs.length === 0;
    }
  },
});

/** Returns a condition by CEL; one whose evaluation ends in an error does not hold. */
export function celRequirement(text: string, expression: Expression): Requirement {
  const paths = [...text.matchAll(/\bself\b(\.[\w.]*)?/g)].map(([, path = '']) => path);
  return {
    isLasting: paths.length > 0 && paths.every((path) => lastingPath.test(path)),
    holds: (self) => expression.boolean({ self }) === true,
  };
}
