import { type JsonObject, objectsAt, stringAt } from '../../apimachinery/json.ts';
import { boolType, optionalType, sameType, stringType, type Type } from '../cel/check/types.ts';
import type { Declarations } from '../cel/check/declarations.ts';
import { estimateCost, type SizeAt } from '../cel/cost/estimate.ts';
import { kubernetes, Program } from '../cel/program.ts';
import { CompileError } from '../cel/syntax/source.ts';
import { EvalError } from '../cel/values/value.ts';
import { rulePath } from './rule-paths.ts';
import { largestRequest, type RuleType, sizesIn } from './rule-types.ts';
import type { Structural } from './structural.ts';

/** An expression of a rule: a program, or why there is none. */
export interface RuleProgram {
  readonly program?: Program;
  readonly error?: string;
  /** The most that one evaluation is estimated to cost. */
  readonly cost: number;
}

/** One of the `x-kubernetes-validations` of a schema, compiled. */
export interface CompiledRule {
  readonly rule: JsonObject;
  readonly main: RuleProgram;
  readonly message?: RuleProgram;
  readonly usesOldSelf: boolean;
  readonly optionalOldSelf: boolean;
  /** The `fieldPath`, as paths of faults show it. */
  readonly path: string;
  /** How often the value can occur in a request where no limit says so. */
  readonly cardinality: number;
}

interface Expectation {
  readonly type: Type;
  readonly wrongType: string;
  readonly lead: string;
}
const ruleExpectation: Expectation = {
  type: boolType,
  wrongType: 'cel expression must evaluate to a bool',
  lead: '',
};
const messageExpectation: Expectation = {
  type: stringType,
  wrongType: 'messageExpression must evaluate to a string',
  lead: 'messageExpression ',
};

function compile(
  text: string,
  declarations: Declarations,
  { type, wrongType, lead }: Expectation,
  sizes: SizeAt,
): RuleProgram {
  try {
    const program = Program.compile(text, declarations);
    if (!sameType(program.type, type)) return { error: wrongType, cost: 0 };
    return { program, cost: estimateCost(program.checked, sizes).max };
  } catch (reason) {
    if (reason instanceof CompileError)
      return { error: `${lead}compilation failed: ${reason.message}`, cost: 0 };
    if (reason instanceof EvalError)
      return { error: `${lead || 'program '}instantiation failed: ${reason.message}`, cost: 0 };
    throw reason;
  }
}

/** Compiles the rules of a schema. Follows apiextensions-apiserver's `cel.Compile`. */
export function compileRules(schema: Structural, type: RuleType): readonly CompiledRule[] {
  const rules = objectsAt(schema, 'x-kubernetes-validations');
  if (rules.length === 0) return [];
  const plain = kubernetes.with({ self: type.type, oldSelf: type.type });
  const optional = kubernetes.with({ self: type.type, oldSelf: optionalType(type.type) });
  const sizes = sizesIn(type);
  const cardinality = Math.floor(largestRequest / (type.least + 1));
  return rules.map((rule) => {
    const optionalOldSelf = rule['optionalOldSelf'] === true;
    const declarations = optionalOldSelf ? optional : plain;
    const text = stringAt(rule, 'rule');
    const main = text.trim() === '' ? { cost: 0 } : compile(text, declarations, ruleExpectation, sizes);
    const expression = stringAt(rule, 'messageExpression');
    const message =
      main.program && expression !== ''
        ? compile(expression, declarations, messageExpectation, sizes)
        : undefined;
    const fieldPath = stringAt(rule, 'fieldPath');
    return {
      rule,
      main,
      ...(message && { message }),
      usesOldSelf: main.program?.uses('oldSelf') ?? false,
      optionalOldSelf,
      path: fieldPath === '' ? '' : (rulePath(fieldPath, schema) ?? ''),
      cardinality,
    };
  });
}
