import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, listAt, stringAt } from '../../apimachinery/json.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  timestampType,
  type Type,
} from '../cel/check/types.ts';
import type { SizeAt } from '../cel/cost/estimate.ts';
import { isEmbedded, isIntOrString, itemsOf, type Structural, valuesOf } from './structural.ts';

/** The size of the largest request that kube-apiserver takes, in bytes. */
export const largestRequest: number = 3 * 1024 * 1024;

/** What expressions see of a schema: a type, and how large its values can be. */
export interface RuleType {
  readonly type: Type;
  /** The most characters, bytes, items or entries. */
  readonly most: number;
  /** The least bytes of a value as JSON. */
  readonly least: number;
  /** Fields by the names that expressions use. */
  readonly fields?: ReadonlyMap<string, RuleType>;
  /** What a list or map holds. */
  readonly inner?: RuleType;
}

const escapes: readonly (readonly [string, string])[] = [
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
];
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Returns the name of a property in expressions; undefined for one that they cannot name. */
export function escapedName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined;
  return name.replaceAll(/__|[.\-/]/g, (part) => escapes.find(([from]) => from === part)?.[1] ?? part);
}

/** Returns the property of a name in expressions. */
export function unescapedName(name: string): string {
  const word = /^__(.*)__$/.exec(name)?.[1];
  if (word !== undefined && reserved.has(word)) return word;
  return name.replaceAll(
    /__(?:underscores|dot|dash|slash)__/g,
    (part) => escapes.find(([, to]) => to === part)?.[0] ?? part,
  );
}

const text: Structural = { type: 'string' };

/** The schema of a resource's root: kind, apiVersion and two names of the metadata are always there. */
export const withResourceFields = (schema: Structural): Structural => ({
  ...schema,
  properties: {
    ...(isObject(schema['properties']) ? schema['properties'] : {}),
    kind: text,
    apiVersion: text,
    metadata: { type: 'object', properties: { name: text, generateName: text } },
  },
});

const numberAt = (schema: Structural, key: string): number | undefined => {
  const value = ownMember(schema, key);
  return typeof value === 'number' ? Math.max(0, value) : undefined;
};

const scalar = (type: Type, most: number, least: number): RuleType => ({ type, most, least });
const longestText = largestRequest - 2;

/** Returns what expressions see of a schema; undefined where they see nothing. Follows `SchemaDeclType`. */
export function ruleTypeOf(
  schema: Structural | undefined,
  isRoot: boolean,
  name = 'selfType',
): RuleType | undefined {
  if (!schema) return undefined;
  if (isIntOrString(schema))
    return scalar(dynType, 4 * (numberAt(schema, 'maxLength') ?? longestText / 4), 1);
  return makers.get(stringAt(schema, 'type'))?.(isRoot ? withResourceFields(schema) : schema, name);
}

const makers: ReadonlyMap<string, (schema: Structural, name: string) => RuleType | undefined> = new Map([
  ['array', listRuleType],
  ['object', (schema, name) => (valuesOf(schema) ? mapRuleType(schema, name) : objectRuleType(schema, name))],
  ['string', textRuleType],
  ['boolean', () => scalar(boolType, 0, 4)],
  ['number', () => scalar(doubleType, 0, 1)],
  ['integer', () => scalar(intType, 0, 1)],
]);

function listRuleType(schema: Structural, name: string): RuleType | undefined {
  const items = itemsOf(schema);
  const inner = ruleTypeOf(items, isEmbedded(items), `${name}.@idx`);
  if (!inner) return undefined;
  const most = numberAt(schema, 'maxItems') ?? Math.floor((largestRequest - 2) / (inner.least + 1));
  return { type: listType(inner.type), most, least: 2, inner };
}

function mapRuleType(schema: Structural, name: string): RuleType | undefined {
  const values = valuesOf(schema);
  const inner = ruleTypeOf(values, isEmbedded(values), `${name}.@elem`);
  if (!inner) return undefined;
  const most = numberAt(schema, 'maxProperties') ?? Math.floor((largestRequest - 2) / (inner.least + 6));
  return { type: mapType(stringType, inner.type), most, least: 2, inner };
}

/** A field named by a reserved word, such as `namespace`, is found by that word too, as in Kubernetes since 1.31. */
function objectRuleType(schema: Structural, name: string): RuleType {
  const fields = new Map<string, RuleType>();
  const required = new Set(listAt(schema, 'required'));
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  let least = 2;
  for (const [property, inner] of Object.entries(properties)) {
    if (!isObject(inner)) continue;
    const type = ruleTypeOf(inner, isEmbedded(inner), `${name}.${property}`);
    if (!type) continue;
    const escaped = escapedName(property);
    if (escaped !== undefined) fields.set(escaped, type);
    if (required.has(property) && ownMember(inner, 'default') === undefined)
      least += Buffer.byteLength(property) + type.least + 4;
  }
  const fieldOf = (field: string): Type | undefined =>
    (fields.get(field) ?? (reserved.has(field) ? fields.get(`__${field}__`) : undefined))?.type;
  return { type: structType(name, fieldOf), most: 0, least, fields };
}

function textRuleType(schema: Structural): RuleType {
  const longest = numberAt(schema, 'maxLength');
  switch (stringAt(schema, 'format')) {
    case 'byte':
      return scalar(bytesType, longest ?? longestText, 2);
    case 'duration':
      return scalar(durationType, 32, 3);
    case 'date':
      return scalar(timestampType, 12, 12);
    case 'date-time':
      return scalar(timestampType, 32, 21);
    default:
      return scalar(stringType, longest === undefined ? longestValue(schema) : 4 * longest, 2);
  }
}

function longestValue(schema: JsonObject): number {
  const values = listAt(schema, 'enum');
  if (values.length === 0) return longestText;
  return Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
}

/** Returns the sizes of what `self` and `oldSelf` lead to. */
export const sizesIn =
  (root: RuleType): SizeAt =>
  (path) => {
    let at: RuleType | undefined = root;
    for (const name of path.slice(1)) {
      if (name === '@items' || name === '@values') at = at?.inner;
      else if (name === '@keys') at = at && isMap(at) ? keys : undefined;
      else at = at?.fields?.get(name);
    }
    return at?.most;
  };

const isMap = ({ type }: RuleType): boolean => type.kind === 'map';
/** Keys of maps: their length is not limited by itself. */
const keys: RuleType = scalar(stringType, 0, 2);
