import { type JsonObject, objectAt, objectsAt, specOf, stringAt } from '../../../apimachinery/json.ts';
import { type FieldError, invalid } from '../../../kube/validation/field-error.ts';
import type { Declarations } from '../check/declarations.ts';
import { boolType, listType, nullType, stringType, type Type } from '../check/types.ts';
import { Composition } from './composition.ts';
import { compileExpression, isInstantiationError } from './expressions.ts';
import { matchConditionFault } from './match-conditions.ts';
import { objectType, patchType } from './patch-types.ts';

interface Expected {
  readonly declarations: Declarations;
  readonly types?: readonly Type[];
}

const faultOf = (field: string, expression: string, error: string): FieldError =>
  isInstantiationError(error)
    ? { type: 'Internal error', field, detail: error }
    : invalid(field, expression, error);

/** Returns the fault of an expression that does not compile; blank ones are reported elsewhere. */
function expressionFaults(
  field: string,
  expression: string,
  { declarations, types }: Expected,
): FieldError[] {
  if (expression.trim() === '') return [];
  const { error } = compileExpression(expression, declarations, types);
  return error === undefined ? [] : [faultOf(field, expression, error)];
}

/** Returns the faults of a webhook's match conditions that do not compile. */
export const webhookConditionFaults = (holder: JsonObject, path: string): readonly FieldError[] =>
  objectsAt(holder, 'matchConditions').flatMap((one, i) => {
    const expression = stringAt(one, 'expression').trim();
    const why = expression === '' ? undefined : matchConditionFault(expression);
    return why === undefined ? [] : [faultOf(`${path}.matchConditions[${i}].expression`, expression, why)];
  });

/** Returns the faults of a policy's expressions: of its conditions, variables, validations and annotations, or of its mutations. */
export function policyExpressionFaults(policy: JsonObject): readonly FieldError[] {
  const spec = specOf(policy);
  const variables = objectsAt(spec, 'variables');
  const optional = { params: spec['paramKind'] !== undefined, authorizer: true };
  const composition = Composition.of(variables, optional);
  // conditions are decided before there are variables
  const { declarations } = Composition.of([], optional);
  return [
    ...objectsAt(spec, 'matchConditions').flatMap((one, i) =>
      expressionFaults(`spec.matchConditions[${i}].expression`, stringAt(one, 'expression').trim(), {
        declarations,
        types: [boolType],
      }),
    ),
    ...composition.faults.flatMap(([name, expression, why]) => {
      const index = variables.findIndex((one) => stringAt(one, 'name') === name);
      return [faultOf(`spec.variables[${index}].expression`, expression, why)];
    }),
    ...validationFaults(spec, composition),
    ...objectsAt(spec, 'mutations').flatMap((one, i) =>
      mutationFaults(one, `spec.mutations[${i}]`, composition),
    ),
  ];
}

const validationFaults = (spec: JsonObject, composition: Composition): FieldError[] => [
  ...objectsAt(spec, 'validations').flatMap((one, i) => [
    ...expressionFaults(`spec.validations[${i}].expression`, stringAt(one, 'expression'), {
      declarations: composition.declarations,
      types: [boolType],
    }),
    ...expressionFaults(`spec.validations[${i}].messageExpression`, stringAt(one, 'messageExpression'), {
      declarations: composition.withoutAuthorizer,
      types: [stringType],
    }),
  ]),
  ...objectsAt(spec, 'auditAnnotations').flatMap((one, i) =>
    expressionFaults(`spec.auditAnnotations[${i}].valueExpression`, stringAt(one, 'valueExpression').trim(), {
      declarations: composition.declarations,
      types: [stringType, nullType],
    }),
  ),
];

function mutationFaults(
  mutation: JsonObject,
  path: string,
  { patchDeclarations }: Composition,
): FieldError[] {
  const member = stringAt(mutation, 'patchType') === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
  const types = member === 'jsonPatch' ? [listType(patchType)] : [objectType('Object')];
  return expressionFaults(
    `${path}.${member}.expression`,
    stringAt(objectAt(mutation, member), 'expression'),
    {
      declarations: patchDeclarations,
      types,
    },
  );
}
