import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, objectsAt, sameJson, stringAt } from '../../apimachinery/json.ts';
import { sorted } from './sorted-value.ts';

/** How kube-apiserver's internal structs name and show a field: its value, or its zero value. */
type Field = readonly [name: string, of: (schema: JsonObject) => unknown];

const capital = (key: string): string => key.charAt(0).toUpperCase() + key.slice(1);
const ofText = (key: string, name = capital(key)): Field => [name, (one) => stringAt(one, key)];
const ofFlag = (key: string, name = capital(key)): Field => [name, (one) => ownMember(one, key) === true];
const orNull = (key: string, name = capital(key)): Field => [name, (one) => ownMember(one, key) ?? null];

const shown = (value: JsonObject, fields: readonly Field[]): JsonObject =>
  Object.fromEntries(fields.map(([name, of]) => [name, of(value)]));

const schemaOf = (value: unknown): JsonObject | null => (isObject(value) ? shown(value, schemaFields) : null);
const schemasOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(schemaOf) : null);
const mapOf = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, schemaOf(ownMember(value, key))]),
      )
    : null;
const listOrSchema = (value: unknown): unknown =>
  value === undefined ? null : { Schema: schemaOf(value), JSONSchemas: schemasOf(value) };
const flagOrSchema = (value: unknown): unknown =>
  value === undefined ? null : { Allows: value === true || isObject(value), Schema: schemaOf(value) };
const anyOf = (value: unknown): unknown => (value === undefined ? null : sorted(value));
const through = (key: string, of: (value: unknown) => unknown, name = capital(key)): Field => [
  name,
  (one) => of(ownMember(one, key)),
];

const ruleFields: readonly Field[] = [
  ...['rule', 'message', 'messageExpression'].map((key) => ofText(key)),
  orNull('reason'),
  ofText('fieldPath'),
  orNull('optionalOldSelf'),
];

/** A rule as messages show it. */
export const shownRule = (rule: JsonObject): JsonObject => shown(rule, ruleFields);

const schemaFields: readonly Field[] = [
  ofText('id', 'ID'),
  ofText('$schema', 'Schema'),
  orNull('$ref', 'Ref'),
  ofText('description'),
  ofText('type'),
  ofFlag('nullable'),
  ofText('format'),
  ofText('title'),
  through('default', anyOf),
  orNull('maximum'),
  ofFlag('exclusiveMaximum'),
  orNull('minimum'),
  ofFlag('exclusiveMinimum'),
  orNull('maxLength'),
  orNull('minLength'),
  ofText('pattern'),
  orNull('maxItems'),
  orNull('minItems'),
  ofFlag('uniqueItems'),
  orNull('multipleOf'),
  through('enum', anyOf),
  orNull('maxProperties'),
  orNull('minProperties'),
  orNull('required'),
  through('items', listOrSchema),
  through('allOf', schemasOf),
  through('oneOf', schemasOf),
  through('anyOf', schemasOf),
  through('not', schemaOf),
  through('properties', mapOf),
  through('additionalProperties', flagOrSchema),
  through('patternProperties', mapOf),
  orNull('dependencies'),
  through('additionalItems', flagOrSchema),
  through('definitions', mapOf),
  through('externalDocs', (value) =>
    isObject(value) ? shown(value, [ofText('description'), ofText('url', 'URL')]) : null,
  ),
  through('example', anyOf),
  orNull('x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'),
  ofFlag('x-kubernetes-embedded-resource', 'XEmbeddedResource'),
  ofFlag('x-kubernetes-int-or-string', 'XIntOrString'),
  orNull('x-kubernetes-list-map-keys', 'XListMapKeys'),
  orNull('x-kubernetes-list-type', 'XListType'),
  orNull('x-kubernetes-map-type', 'XMapType'),
  [
    'XValidations',
    (one) =>
      Array.isArray(one['x-kubernetes-validations'])
        ? objectsAt(one, 'x-kubernetes-validations').map(shownRule)
        : null,
  ],
];

const validationOf = (value: unknown): unknown =>
  isObject(value) ? { OpenAPIV3Schema: schemaOf(value['openAPIV3Schema']) } : null;

const subresourcesOf = (value: unknown): unknown =>
  isObject(value)
    ? {
        Status: isObject(value['status']) ? {} : null,
        Scale: isObject(value['scale'])
          ? shown(value['scale'], [
              ofText('specReplicasPath'),
              ofText('statusReplicasPath'),
              orNull('labelSelectorPath'),
            ])
          : null,
      }
    : null;

const columnFields: readonly Field[] = [
  ...['name', 'type', 'format', 'description'].map((key) => ofText(key)),
  ['Priority', (one) => ownMember(one, 'priority') ?? 0],
  ofText('jsonPath', 'JSONPath'),
];

/** Parts that stand once for all versions where they are the same in each. */
const shared: readonly (readonly [key: string, name: string, of: (value: unknown) => unknown])[] = [
  ['schema', 'Schema', validationOf],
  ['subresources', 'Subresources', subresourcesOf],
  [
    'additionalPrinterColumns',
    'AdditionalPrinterColumns',
    (value) => (Array.isArray(value) ? value.filter(isObject).map((one) => shown(one, columnFields)) : null),
  ],
  [
    'selectableFields',
    'SelectableFields',
    (value) =>
      Array.isArray(value)
        ? value.filter(isObject).map((one) => shown(one, [ofText('jsonPath', 'JSONPath')]))
        : null,
  ],
];

/** Returns the versions of a definition as kube-apiserver holds and shows them: parts that are the same in all do not stand in each. */
export function internalVersions(versions: readonly JsonObject[]): readonly JsonObject[] {
  const [first = {}] = versions;
  const isShared = (key: string): boolean =>
    versions.every((one) => sameJson(ownMember(one, key) ?? null, ownMember(first, key) ?? null));
  const parts = shared.map(([key, name, of]): Field => {
    const once = isShared(key);
    return [name, (one) => (once ? null : of(ownMember(one, key)))];
  });
  return versions.map((version) =>
    shown(version, [
      ofText('name'),
      ofFlag('served'),
      ofFlag('storage'),
      ofFlag('deprecated'),
      orNull('deprecationWarning'),
      ...parts,
    ]),
  );
}
