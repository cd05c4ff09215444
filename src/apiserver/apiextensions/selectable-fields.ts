import { isObject, type JsonObject, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { propertyOf, type Structural, valuesOf } from './structural.ts';

const mostFields = 8;
const allowedTypes = ['string', 'boolean', 'integer'];

/** The schema that a path leads to, or why it leads to none. */
type Target = { readonly schema: Structural; readonly why?: undefined } | { readonly why: string };

/** Follows a path of names: `.spec.color`. Follows `ValidFieldPath` (apiextensions-apiserver, schema/cel). */
function targetOf(path: string, root: Structural): Target {
  let schema = root;
  const tokens = path.match(/[.[\]]|[^.[\]]+/g) ?? [];
  for (let i = 0; i < tokens.length; i += 2) {
    const [mark = '', name] = tokens.slice(i, i + 2);
    if (mark === '[') return { why: 'array notation is not allowed' };
    if (mark !== '.') return { why: `expected [ or . but got: ${mark}` };
    if (name === undefined) return { why: 'unexpected end of JSON path' };
    const inner = isObject(schema['properties']) ? propertyOf(schema, name) : valuesOf(schema);
    if (!inner) return { why: 'does not refer to a valid field' };
    schema = inner;
  }
  return { schema };
}

/** Validates the fields that selectors may use. Follows `ValidateCustomResourceSelectableFields` (apiextensions-apiserver, v1.36). */
export function selectableFaults(version: JsonObject, path: string): FieldFault[] {
  const fields = objectsAt(version, 'selectableFields').map((one) => stringAt(one, 'jsonPath'));
  const schema = valueAt(version, 'schema', 'openAPIV3Schema');
  if (fields.length === 0 || !isObject(schema)) return [];
  const distinct = new Set<string>();
  const faults = fields.flatMap((field, i): FieldFault[] => {
    const at = `${path}[${i}].jsonPath`;
    if (field === '') return [fault.required(at)];
    const target = targetOf(field, schema);
    if (target.why !== undefined) return [fault.invalid(at, field, `is an invalid path: ${target.why}`)];
    const isKnown = distinct.has(field);
    distinct.add(field);
    return [
      ...(/^\.metadata\b/.test(field)
        ? [fault.invalid(at, field, 'must not point to fields in metadata')]
        : []),
      ...(allowedTypes.includes(stringAt(target.schema, 'type'))
        ? []
        : [
            fault.invalid(
              at,
              field,
              'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
            ),
          ]),
      ...(isKnown ? [fault.duplicate(at, field)] : []),
    ];
  });
  if (distinct.size <= mostFields) return faults;
  const message = `Too many: ${distinct.size}: must have at most ${mostFields} items`;
  return [...faults, { reason: 'FieldValueTooMany', field: path, message }];
}
