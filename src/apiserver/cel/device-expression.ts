import { compileExpression } from './admission/expressions.ts';
import { boolType, mapType, stringType, structType, type Type } from './check/types.ts';
import { estimateCost, type SizeAt } from './cost/estimate.ts';
import { quantityType } from './library/quantities.ts';
import { kubernetes } from './program.ts';

/** The type of an attribute: unknown until it is evaluated. */
const anyType: Type = { kind: 'dyn', name: 'any', params: [] };

const fields: ReadonlyMap<string, Type> = new Map([
  ['driver', stringType],
  ['attributes', mapType(stringType, mapType(stringType, anyType))],
  ['capacity', mapType(stringType, mapType(stringType, quantityType))],
  ['allowMultipleAllocations', boolType],
]);

const declarations = kubernetes.with({
  device: structType('kubernetes.DRADevice', (name) => fields.get(name)),
});

const most = { attributes: 32, domain: 63, id: 32, value: 64, driver: 63 } as const;

/** What one evaluation of a device selector may cost. */
const costLimit = 1_000_000;

/** Returns the greatest size of a part of a device. */
const sizeAt: SizeAt = ([variable, field, ...rest]) => {
  if (variable !== 'device') return undefined;
  if (field === 'driver') return most.driver;
  if (field === 'allowMultipleAllocations') return 1;
  if (field !== 'attributes' && field !== 'capacity') return undefined;
  const [outer, inner, ...deeper] = rest;
  if (outer === undefined) return most.attributes;
  if (outer === '@keys') return most.domain;
  if (inner === undefined) return most.attributes;
  if (inner === '@keys') return most.id;
  return field === 'attributes' && deeper.length === 0 ? most.value : undefined;
};

/** Why a device selector is rejected. */
export type DeviceExpressionFault = 'costly' | { readonly why: string };

/** Returns what is wrong with the expression of a device selector. Follows `CompileCELExpression` (dynamic-resource-allocation/cel, v1.36). */
export function deviceExpressionFault(expression: string): DeviceExpressionFault | undefined {
  const { program, error } = compileExpression(expression, declarations);
  if (!program) return { why: error };
  const { type } = program;
  if (type.name !== 'bool' && type.name !== 'any')
    return { why: `must evaluate to bool or the unknown type, not ${textOf(type)}` };
  return estimateCost(program.checked, sizeAt).max > costLimit ? 'costly' : undefined;
}

const textOf = ({ name, params }: Type): string =>
  params.length === 0 ? name : `${name}(${params.map(textOf).join(', ')})`;
