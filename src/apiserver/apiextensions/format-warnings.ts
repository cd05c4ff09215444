import { isObject, type JsonObject, objectsAt, specOf, stringAt, valueAt } from '../../apimachinery/json.ts';
import { isFormatOf } from './value-formats.ts';

const schemaMaps = ['properties', 'patternProperties', 'definitions'];
const schemaLists = ['allOf', 'anyOf', 'oneOf'];
const schemas = ['items', 'additionalItems', 'additionalProperties', 'not'];

/** Returns the schemas right below a schema. */
function below(schema: JsonObject): readonly JsonObject[] {
  const members = Object.entries(schema);
  return members.flatMap(([key, value]) => {
    if (schemas.includes(key)) return isObject(value) ? [value] : [];
    if (schemaLists.includes(key)) return objectsAt(schema, key);
    return schemaMaps.includes(key) && isObject(value) ? Object.values(value).filter(isObject) : [];
  });
}

function* unknownFormats(schema: JsonObject): Iterable<string> {
  const format = stringAt(schema, 'format');
  if (format !== '' && !isFormatOf(stringAt(schema, 'type'), format)) yield format;
  for (const one of below(schema)) yield* unknownFormats(one);
}

const formatsOf = (definition: JsonObject | undefined): readonly string[] =>
  objectsAt(specOf(definition), 'versions').flatMap((version) => {
    const schema = valueAt(version, 'schema', 'openAPIV3Schema');
    return isObject(schema) ? [...unknownFormats(schema)] : [];
  });

/** Returns warnings about formats of schemas that no value is validated by. Follows apiextensions-apiserver `WarningsOnCreate` (v1.36). */
export function formatWarnings(definition: JsonObject, old?: JsonObject): readonly string[] {
  const before = formatsOf(old);
  return formatsOf(definition)
    .filter((format) => !before.includes(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}
