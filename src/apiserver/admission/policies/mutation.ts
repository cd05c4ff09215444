import { messageOf } from '../../../base/errors.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { fieldsOf, type Shape } from '../../../apimachinery/api-types.ts';
import { isObject, type JsonObject } from '../../../apimachinery/json.ts';
import { type Kind, shapeOf } from '../../../apimachinery/kinds.ts';
import { merge } from '../../../apimachinery/managed-fields/field-set.ts';
import { typedFaults } from '../../../apimachinery/managed-fields/typed-value.ts';
import { jsonPatch } from '../../../apimachinery/patch/patch.ts';
import { toJson } from '../../cel/values/json.ts';
import { CelList, CelMap, Struct, type Value } from '../../cel/values/value.ts';

/** Returns the object as a mutation's value changes it: as a configuration that is applied, or as steps of a JSON patch: one whose test fails changes nothing. @throws {Error} */
export function mutated(
  object: JsonObject,
  kind: Kind,
  patchType: 'ApplyConfiguration' | 'JSONPatch',
  value: Value | undefined,
): JsonObject {
  return patchType === 'JSONPatch' ? patched(object, value) : applied(object, kind, value);
}

/** Checks that parts are made as where they stand: `Object.spec{…}` in the field `spec`. @throws {Error} */
function checkNames(value: Value, path: string): void {
  if (value instanceof Struct) {
    if (value.type.name !== path)
      throw new Error(
        `type mismatch: unexpected type name ${goQuote(value.type.name)}, expected ${goQuote(path)}, which matches field name path from root Object type`,
      );
    for (const [field, inner] of value.fields) checkNames(inner, `${path}.${field}`);
  } else if (value instanceof CelList) for (const item of value) checkNames(item, path);
  else if (value instanceof CelMap) for (const key of value.keys()) checkNames(value.find(key) ?? null, path);
}

function applied(object: JsonObject, kind: Kind, value: Value | undefined): JsonObject {
  if (!(value instanceof Struct))
    throw new Error('unsupported return type from ApplyConfiguration expression');
  checkNames(value, 'Object');
  const configuration = {
    ...(toJson(value) as JsonObject),
    apiVersion: object['apiVersion'],
    kind: object['kind'],
  };
  const shape = shapeOf(kind);
  const fault = typedFaults(configuration, shape);
  if (fault !== undefined)
    throw new Error(`error applying patch: failed to convert patch object to typed object: ${fault}`);
  const atomics = atomicsIn(configuration, shape, '');
  if (atomics.length > 0)
    throw new Error(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
    );
  return merge(object, configuration, shape) as JsonObject;
}

/** Returns where a configuration sets lists, maps or structs that are replaced as a whole. */
function atomicsIn(value: unknown, shape: Shape | undefined, path: string): string[] {
  if (shape?.is === 'list' && Array.isArray(value)) {
    const own = shape.merge.kind === 'atomic' ? [path] : [];
    return [...own, ...value.flatMap((item: unknown, i) => atomicsIn(item, shape.of, `${path}[${i}]`))];
  }
  if (!isObject(value) || (shape?.is !== 'struct' && shape?.is !== 'map')) return [];
  const own = shape.atomic ? [path] : [];
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, inner]) =>
      atomicsIn(inner, shapeAt(shape, key), `${path}.${key}`),
    ),
  ];
}

function shapeAt(shape: Shape & { is: 'struct' | 'map' }, key: string): Shape | undefined {
  if (shape.is === 'map') return undefined;
  const fields = shape.fields ?? fieldsOf(shape.type);
  return fields.get(key)?.shape ?? shape.rest;
}

function patched(object: JsonObject, value: Value | undefined): JsonObject {
  if (!(value instanceof CelList))
    throw new Error('type mismatch: JSONPatchType.expression should evaluate to array');
  const steps = Array.from(value, (step) => {
    if (!(step instanceof Struct && step.type.name === 'JSONPatch'))
      throw new Error('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
    const inner = step.fields.get('value');
    if (inner instanceof Struct) checkNames(inner, inner.type.name);
    const { from, ...rest } = toJson(step) as JsonObject;
    const patch: JsonObject = { ...rest, ...(typeof from === 'string' && from !== '' && { from }) };
    return patch;
  });
  let next: unknown = object;
  for (const step of steps)
    try {
      next = jsonPatch(next as JsonObject, [step]);
    } catch (reason) {
      if (step['op'] === 'test') return object;
      throw new Error(`JSON Patch: ${messageOf(reason)}`, { cause: reason });
    }
  return isObject(next) ? next : object;
}
