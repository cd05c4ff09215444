import { ownMember } from '../base/own.ts';
import { Ajv, type ErrorObject, type SchemaObject, type ValidateFunction } from 'ajv';
import { parseDuration } from '../kube/duration.ts';
import { goQuote } from '../go/go-quote.ts';
import { cannotUnmarshal, jsonTypeOf } from '../go/go-types.ts';
import { quantityFormatError, tryParseQuantity } from '../kube/resources/quantity.ts';
import type { Field, FieldType, StructType } from './field.ts';
import { kubeletFields } from './kubelet/kubelet-fields.ts';

/** A value of the wrong type. */
export interface StructureFault {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly message: string;
  readonly allowed: string;
  /** Whether the decoder stops here; it continues after other faults. */
  readonly stops: boolean;
}

/** Result of a structural check. */
export interface StructureCheck {
  /** In the order in which the kubelet's decoder meets them: by key. */
  readonly faults: readonly StructureFault[];
  /** Paths of unknown settings. */
  readonly unknown: readonly (readonly string[])[];
}

/** KubeletConfiguration as a struct. */
export const kubeletStruct: StructType = { struct: 'KubeletConfiguration', fields: kubeletFields };

const int = (bits: number): SchemaObject => ({
  type: 'integer',
  minimum: -(2 ** (bits - 1)),
  maximum: 2 ** (bits - 1) - 1,
  goType: `int${bits}`,
  allowed: 'a whole number',
});
const text: SchemaObject = { type: 'string', goType: 'string', allowed: 'text' };
const quantity: SchemaObject = {
  type: ['string', 'number'],
  quantity: true,
  goType: 'resource.Quantity',
  allowed: 'a quantity, e.g. 500m or 10Mi',
};
const duration: SchemaObject = {
  type: 'string',
  duration: true,
  goType: 'string',
  allowed: 'a span, e.g. 10s or 1m30s',
};
const mapOf = (inner: SchemaObject, goType: string): SchemaObject => ({
  type: 'object',
  additionalProperties: inner,
  goType,
  allowed: 'a mapping',
});
const listOf = (items: SchemaObject, goType: string): SchemaObject => ({
  type: 'array',
  items,
  goType,
  allowed: 'a list',
});

const scalars: Readonly<Record<Extract<FieldType, string>, SchemaObject>> = {
  string: text,
  bool: { type: 'boolean', goType: 'bool', allowed: 'true or false' },
  int32: int(32),
  int64: int(64),
  verbosity: { ...int(33), minimum: 0, goType: 'v1.VerbosityLevel' },
  float64: { type: 'number', goType: 'float64', allowed: 'a number' },
  duration,
  'duration or nanoseconds': { ...duration, type: ['string', 'integer'] },
  quantity,
  '[]string': listOf(text, '[]string'),
  '[]int32': listOf(int(32), '[]int32'),
  'map[string]string': mapOf(text, 'map[string]string'),
  'map[string]bool': mapOf({ type: 'boolean', goType: 'bool', allowed: 'true or false' }, 'map[string]bool'),
  'map[string][]string': mapOf(listOf(text, '[]string'), 'map[string][]string'),
  'map[string]quantity': mapOf(quantity, 'v1.ResourceList'),
};

const goNameOf = (type: StructType): string => `${type.package ?? 'v1beta1'}.${type.struct}`;

function schemaOf({ type, goType }: Pick<Field, 'type' | 'goType'>): SchemaObject {
  if (typeof type === 'string') return { ...scalars[type], ...(goType !== undefined && { goType }) };
  if ('listOf' in type)
    return listOf(schemaOf({ type: type.listOf }), type.goType ?? `[]${goNameOf(type.listOf)}`);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(type.fields).map(([name, field]: [string, Field]) => [name, schemaOf(field)]),
    ),
    goType: goNameOf(type),
    struct: type.struct,
    allowed: 'a mapping',
  };
}

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  allowUnionTypes: true,
  validateSchema: false, // saves compiling the schema of schemas at each start
});
ajv.addVocabulary(['goType', 'struct', 'allowed']);
ajv.addKeyword({
  keyword: 'duration',
  type: 'string',
  validate: (_: unknown, value: string) => typeof parseDuration(value) === 'bigint',
});
ajv.addKeyword({
  keyword: 'quantity',
  validate: (_: unknown, value: unknown) => typeof tryParseQuantity(String(value)) === 'object',
});

/** Validators, compiled on first use: most files set only a few settings. */
const compiled = new Map<Field, ValidateFunction>();
const typeMeta: Field = { type: 'string', about: '' };

function validatorOf(setting: string, { fields }: StructType): ValidateFunction | undefined {
  const isMeta = setting === 'apiVersion' || setting === 'kind';
  const field = isMeta ? typeMeta : Object.hasOwn(fields, setting) ? ownMember(fields, setting) : undefined;
  if (!field) return undefined;
  const validate = compiled.get(field) ?? ajv.compile(schemaOf(field));
  compiled.set(field, validate);
  return validate;
}

/**
 * Validates a document without nulls against the schema and returns every fault.
 *
 * @param struct type of the document; default: a KubeletConfiguration
 */
export function checkStructure(
  value: Readonly<Record<string, unknown>>,
  struct: StructType = kubeletStruct,
): StructureCheck {
  const faults: StructureFault[] = [];
  const unknown: string[][] = [];
  for (const [setting, member] of Object.entries(value)) {
    const validate = validatorOf(setting, struct);
    if (!validate) unknown.push([setting]);
    else if (!validate(member))
      for (const error of validate.errors ?? []) {
        const path = [setting, ...pathOf(error)];
        if (error.keyword === 'additionalProperties')
          unknown.push([...path, String(error.params['additionalProperty'])]);
        else faults.push(faultOf(error, path, struct));
      }
  }
  return { faults: faults.sort((a, b) => comparePaths(a.path, b.path)), unknown };
}

const pathOf = ({ instancePath }: ErrorObject): string[] =>
  instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function faultOf(error: ErrorObject, path: readonly string[], root: StructType): StructureFault {
  const { goType, allowed } = error.parentSchema as { goType: string; allowed: string };
  const base = { path, value: error.data, allowed };
  if (error.keyword === 'duration')
    return { ...base, message: String(parseDuration(String(error.data))), stops: true };
  if (error.keyword === 'quantity') return { ...base, message: quantityFormatError, stops: true };
  const { owner, dotted } = goPath(path, root);
  // A duration decodes itself, so the decoder stops at it.
  const stops = error.parentSchema?.['duration'] === true;
  if (stops && Array.isArray(error.schema)) {
    const fault = `json: cannot unmarshal ${jsonTypeOf(error.data, true)} into Go value of type time.Duration`;
    return { ...base, message: `invalid duration ${goQuote(JSON.stringify(error.data))}: ${fault}`, stops };
  }
  return { ...base, message: cannotUnmarshal(error.data, owner, dotted, goType), stops };
}

/** Returns the names of the settings below a path. */
export function settingNames(path: readonly string[]): readonly string[] {
  let struct: StructType | undefined = kubeletStruct;
  for (const part of path) if (!/^\d+$/.test(part)) struct = structOf(ownMember(struct?.fields, part));
  return Object.keys(struct?.fields ?? {});
}

function structOf(field: Field | undefined): StructType | undefined {
  if (field === undefined || typeof field.type === 'string') return undefined;
  return 'listOf' in field.type ? field.type.listOf : field.type;
}

/** Returns the struct that owns the field, and the field's path without list indexes and map keys, both as Go names them. */
function goPath(path: readonly string[], root: StructType): { owner: string; dotted: string } {
  let struct: StructType | undefined = root;
  let owner = root.struct;
  const names: string[] = [];
  for (const part of path) {
    const field: Field | undefined = ownMember(struct?.fields, part);
    if (!field) continue;
    owner = struct?.struct ?? owner;
    names.push(part);
    struct = structOf(field);
  }
  return { owner, dotted: names.join('.') };
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left = '', right = ''] = [a[i], b[i]];
    if (left === right) continue;
    if (/^\d+$/.test(left) && /^\d+$/.test(right)) return Number(left) - Number(right);
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
