import { fieldsOf, type Scalar, type Shape } from '../../apimachinery/api-types.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  timestampType,
  type Type,
} from '../cel/check/types.ts';
import type { CustomKind } from './custom-kinds.ts';
import { ruleTypeOf, unescapedName } from './rule-types.ts';

const scalars: ReadonlyMap<Scalar, Type> = new Map([
  ['string', stringType],
  ['boolean', boolType],
  ['int32', intType],
  ['int64', intType],
  ['double', doubleType],
  ['time', timestampType],
  ['microtime', timestampType],
  ['bytes', bytesType],
  ['intstr', dynType],
]);

/** Members without a schema of their own that OpenAPI describes as objects; the others have no type. */
const freeObjects: ReadonlySet<string> = new Set([
  'AllocatedDeviceStatus.data',
  'ControllerRevision.data',
  'CustomResourceSubresources.status',
  'ManagedFieldsEntry.fieldsV1',
  'OpaqueDeviceConfiguration.parameters',
]);

/** Where a type stands: its name in messages, and the types that it is in. */
interface Place {
  readonly name: string;
  readonly within: readonly string[];
  /** Type and name of the member. */
  readonly member?: string;
}

const inside = ({ within }: Place, name: string): Place => ({ name, within });

/** Returns the type of a shape; undefined where expressions see nothing, such as quantities. */
function typeOfShape(shape: Shape, place: Place): Type | undefined {
  switch (shape.is) {
    case 'scalar':
      if (shape.scalar === 'any' && freeObjects.has(place.member ?? ''))
        return structType(place.name, () => undefined);
      return scalars.get(shape.scalar);
    case 'list': {
      const item = typeOfShape(shape.of, inside(place, `${place.name}.@idx`));
      return item && listType(item);
    }
    case 'map': {
      const value = typeOfShape(shape.of, inside(place, `${place.name}.@elem`));
      return value && mapType(stringType, value);
    }
    case 'struct':
      return typeOfStruct(shape.type, place);
  }
}

/** Returns the type of a built-in struct; one that contains itself has no fields within. */
function typeOfStruct(type: string, { name, within }: Place): Type {
  if (within.includes(type)) return structType(name, () => undefined);
  const fields = fieldsOf(type);
  return structType(name, (text) => {
    const member = unescapedName(text);
    const field = fields.get(member);
    const place = { name: `${name}.${member}`, within: [...within, type], member: `${type}.${member}` };
    return field && typeOfShape(field.shape, place);
  });
}

/** Returns what expressions see of a built-in kind's objects, as its OpenAPI schema describes them. */
export function builtInType({ kind, type }: Kind): Type {
  const whole = typeOfStruct(type, { name: kind, within: [] });
  const typed = (field: string): Type | undefined =>
    field === 'kind' || field === 'apiVersion' ? stringType : whole.fieldOf?.(field);
  return structType(kind, typed);
}

/** Returns what expressions see of a custom kind's objects: by its schema, with the whole metadata. */
export function customObjectType({ kind, schema }: CustomKind): Type | undefined {
  const { type } = ruleTypeOf(schema, true, kind.kind) ?? {};
  const metadata = typeOfStruct('ObjectMeta', { name: `${kind.kind}.metadata`, within: [] });
  return type && structType(kind.kind, (field) => (field === 'metadata' ? metadata : type.fieldOf?.(field)));
}
