import { LRUCache } from 'lru-cache';
import { ownMember, tableOf } from '../../base/own.ts';
import {
  canonicalJson,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { isEmbedded, isIntOrString, itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';
import { hasFormat } from './value-formats.ts';

/** One value on its way through validation. */
interface Place {
  readonly path: string;
  /** The value that stands; absent for a new one. Values that stay the same are not judged again. */
  readonly old?: unknown;
  /** Whether the value is part of the default of a schema. */
  readonly isDefault?: boolean;
}

/** Returns a path as messages show it; the object itself has none. */
const shown = (path: string): string => (path === '' ? '<nil>' : path);
const bodyAt = (path: string): string => `${path} in body`;

const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const bad = (path: string, value: unknown, why: string): FieldFault => fault.invalid(shown(path), value, why);

/** A fault of the type of a value. */
const wrongType = (path: string, value: unknown, type: string, typeText: string): FieldFault => ({
  ...bad(path, value, `${bodyAt(path)} must be of type ${type}: ${JSON.stringify(typeText)}`),
  reason: 'FieldValueTypeInvalid',
});

/** What a value is validated for. */
export interface ValueContext {
  /** The object that stands: what an update leaves as it is is not validated again (ratcheting). */
  readonly old?: JsonObject | undefined;
  /** Whether the value is the default of a schema, whose lists may repeat keys. Default: false. */
  readonly isDefault?: boolean;
}

/** Returns what of a value breaks its schema, in kube-apiserver's words. */
export function valueFaults(
  value: unknown,
  schema: Structural,
  { old, isDefault = false }: ValueContext = {},
): readonly FieldFault[] {
  return faultsOf(value, schema, { path: '', isDefault, ...(old && { old }) });
}

function faultsOf(value: unknown, schema: Structural, place: Place): FieldFault[] {
  const { path, old } = place;
  if (old !== undefined && sameJson(value, old)) return [];
  if (value === null && schema['nullable'] === true) return [];
  const type = typeFaults(value, schema, path);
  if (type.length > 0) return [...type, ...fractionFaults(value, schema, path)];
  return [
    ...enumFaults(value, schema, path),
    ...(typeof value === 'string' ? textFaults(value, schema, path) : []),
    ...(typeof value === 'number' ? numberFaults(value, schema, path) : []),
    ...(Array.isArray(value) ? listFaults(value, schema, place) : []),
    ...(isObject(value) ? objectFaults(value, schema, place) : []),
    ...junctorFaults(value, schema, path),
  ];
}

/** Returns the second fault of a number with a fraction where an integer belongs. */
function fractionFaults(value: unknown, schema: Structural, path: string): FieldFault[] {
  if (typeof value !== 'number' || stringAt(schema, 'type') !== 'integer') return [];
  return [outOfRange(schema, path)];
}

function typeFaults(value: unknown, schema: Structural, path: string): FieldFault[] {
  const found = typeName(value);
  const allowed = isIntOrString(schema) ? ['integer', 'string'] : [stringAt(schema, 'type')];
  const [first = ''] = allowed;
  if (first === '' || allowed.includes(found) || (first === 'number' && found === 'integer')) return [];
  return [wrongType(path, found, allowed.join(','), found)];
}

/** Reports whether a number becomes the listed integer without its fraction: kube-apiserver compares so. */
const isCutTo = (value: unknown, listed: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(listed) && Math.trunc(value) === listed;

function enumFaults(value: unknown, schema: Structural, path: string): FieldFault[] {
  const values = listAt(schema, 'enum');
  if (values.length === 0 || values.some((one) => sameJson(one, value) || isCutTo(value, one))) return [];
  return [fault.unsupported(shown(path), value, values.map(textOf))];
}

function textFaults(value: string, schema: Structural, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const { maxLength, minLength } = schema;
  // a text has at most as many code points as UTF-16 units
  const isShort = minLength === undefined && (typeof maxLength !== 'number' || value.length <= maxLength);
  const length = isShort ? value.length : Array.from(value).length;
  if (typeof maxLength === 'number' && length > maxLength) faults.push(fault.tooLong(shown(path), maxLength));
  if (typeof minLength === 'number' && length < minLength)
    faults.push(bad(path, value, `${bodyAt(path)} should be at least ${minLength} chars long`));
  const pattern = stringAt(schema, 'pattern');
  if (pattern !== '' && !matches(pattern, value))
    faults.push(bad(path, value, `${bodyAt(path)} should match '${pattern}'`));
  const format = stringAt(schema, 'format');
  if (format !== '' && !hasFormat(value, format)) faults.push(wrongType(path, value, format, value));
  return faults;
}

/** Patterns of schemas, read once; without an expression: it cannot be read. */
const expressions = new LRUCache<string, { readonly read: RegExp | undefined }>({ max: 2000 });

/** Reports whether a text matches an expression of Go; one that cannot be read matches everything. */
function matches(pattern: string, value: string): boolean {
  let found = expressions.get(pattern);
  if (!found) {
    found = { read: readExpression(pattern) };
    expressions.set(pattern, found);
  }
  return found.read?.test(value) ?? true;
}

function readExpression(pattern: string): RegExp | undefined {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/su.exec(pattern) ?? [];
  try {
    return new RegExp(rest.replaceAll('\\z', '$').replaceAll('\\A', '^'), `u${flags}`);
  } catch {
    return undefined;
  }
}

/** The largest numbers of formats, by type and format; those of integers have as many negative ones and one more. */
const largest: Readonly<Record<string, number>> = tableOf({
  'integer int32': 2 ** 31 - 1,
  integer: 2 ** 63,
  'integer int64': 2 ** 63,
  'number float': 3.402_823_466_385_288_6e38,
});

/** Returns the fault of a number that is too large for its format. Like kube-apiserver, it names no field. */
function rangeFault(value: number, schema: Structural, path: string): FieldFault | undefined {
  const [type, format] = [stringAt(schema, 'type'), stringAt(schema, 'format')];
  const most = ownMember(largest, format === '' ? type : `${type} ${format}`);
  const isWide = most !== undefined && (value > most || value < -most - (type === 'integer' ? 1 : 0));
  return isWide ? outOfRange(schema, path) : undefined;
}

/** Returns the fault of a number that its type cannot hold. Like kube-apiserver, it names no field. */
function outOfRange(schema: Structural, path: string): FieldFault {
  const [type, format] = [stringAt(schema, 'type'), stringAt(schema, 'format')];
  const shownFormat = format === '' ? '(default format)' : `with format ${format}`;
  return bad('', '', `Checked value must be of type ${type} ${shownFormat} in ${path}`);
}

function numberFaults(value: number, schema: Structural, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const { maximum, minimum, multipleOf } = schema;
  const wide = rangeFault(value, schema, path);
  if (wide !== undefined) faults.push(wide);
  const [below, above] = [schema['exclusiveMaximum'] === true, schema['exclusiveMinimum'] === true];
  const at = bodyAt(path);
  if (typeof maximum === 'number' && (below ? value >= maximum : value > maximum))
    faults.push(bad(path, value, `${at} should be less than${below ? '' : ' or equal to'} ${maximum}`));
  if (typeof minimum === 'number' && (above ? value <= minimum : value < minimum))
    faults.push(bad(path, value, `${at} should be greater than${above ? '' : ' or equal to'} ${minimum}`));
  if (typeof multipleOf === 'number' && !Number.isInteger(value / multipleOf))
    faults.push(bad(path, value, `${at} should be a multiple of ${multipleOf}`));
  return faults;
}

const tooMany = (path: string, count: number, most: number): FieldFault => ({
  reason: 'FieldValueTooMany',
  field: shown(path),
  message: `Too many: ${count}: must have at most ${most} ${most === 1 ? 'item' : 'items'}`,
});

function sizeFaults(
  count: number,
  schema: Structural,
  path: string,
  what: 'Items' | 'Properties',
): FieldFault[] {
  const [most, least] = [ownMember(schema, `max${what}`), ownMember(schema, `min${what}`)];
  const few = `${bodyAt(path)} should have at least ${textOf(least)} ${what.toLowerCase()}`;
  return [
    ...(typeof most === 'number' && count > most ? [tooMany(path, count, most)] : []),
    ...(typeof least === 'number' && count < least ? [bad(path, count, few)] : []),
  ];
}

function listFaults(value: readonly unknown[], schema: Structural, place: Place): FieldFault[] {
  const { path, old, isDefault = false } = place;
  const items = itemsOf(schema);
  const keyed = keysOf(schema);
  const standing = new Map(
    keyed && Array.isArray(old) ? old.map((item: unknown) => [keyed(item), item] as const) : [],
  );
  return [
    ...(items
      ? value.flatMap((item, i) => {
          const before = keyed && standing.get(keyed(item));
          return faultsOf(item, items, {
            path: `${path}[${i}]`,
            isDefault,
            ...(before !== undefined && { old: before }),
          });
        })
      : []),
    ...sizeFaults(value.length, schema, path, 'Items'),
    ...(keyed && !isDefault ? twinFaults(value, schema, keyed, path) : []),
  ];
}

/** How the items of a list are distinguished; absent where they are not. */
function keysOf(schema: Structural): ((item: unknown) => string) | undefined {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return canonicalJson;
  return type === 'map' ? (item) => canonicalJson(keyPart(item, schema)) : undefined;
}

const keyPart = (item: unknown, schema: Structural): unknown =>
  isObject(item)
    ? Object.fromEntries(
        (listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[]).map((key) => [
          key,
          ownMember(item, key),
        ]),
      )
    : item;

function twinFaults(
  value: readonly unknown[],
  schema: Structural,
  keyed: (item: unknown) => string,
  path: string,
): FieldFault[] {
  const seen = new Set<string>();
  return value.flatMap((item, i) => {
    const key = keyed(item);
    const isTwin = seen.has(key);
    seen.add(key);
    const part = schema['x-kubernetes-list-type'] === 'map' ? keyPart(item, schema) : item;
    return isTwin ? [fault.duplicate(`${path}[${i}]`, part)] : [];
  });
}

function objectFaults(value: JsonObject, schema: Structural, place: Place): FieldFault[] {
  const { path, old, isDefault = false } = place;
  const below = (key: string, isDeclared = true): string =>
    path === '' && isDeclared ? key : `${path}.${key}`;
  const needed = (listAt(schema, 'required') as readonly string[]).filter(
    (key) => ownMember(value, key) === undefined,
  );
  const nameless = isEmbedded(schema)
    ? ['apiVersion', 'kind'].filter((key) => stringAt(value, key) === '')
    : [];
  return [
    ...sizeFaults(Object.keys(value).length, schema, path, 'Properties'),
    ...needed.map((key) => fault.required(below(key))),
    ...nameless.map((key) =>
      ownMember(value, key) === '' ? bad(below(key), '', 'must not be empty') : fault.required(below(key)),
    ),
    ...Object.entries(value).flatMap(([key, inner]) => {
      const declared = propertyOf(schema, key);
      const of = declared ?? valuesOf(schema);
      const before = isObject(old) ? ownMember(old, key) : undefined;
      return of
        ? faultsOf(inner, of, {
            path: below(key, declared !== undefined),
            isDefault,
            ...(before !== undefined && { old: before }),
          })
        : [];
    }),
  ];
}

const junctors = ['allOf', 'anyOf', 'oneOf', 'not'];

/** Faults of `allOf`, `anyOf`, `oneOf` and `not`. */
function junctorFaults(value: unknown, schema: Structural, path: string): FieldFault[] {
  if (!junctors.some((key) => Object.hasOwn(schema, key))) return [];
  const failing = (key: string): readonly FieldFault[][] =>
    objectsAt(schema, key).map((inner) => faultsOf(value, inner, { path }));
  // like kube-apiserver, it names no field
  const say = (why: string): FieldFault => bad('', '', `${JSON.stringify(path)} ${why}`);
  const [all, any, one] = [failing('allOf'), failing('anyOf'), failing('oneOf')];
  const closest = (of: readonly FieldFault[][]): FieldFault[] =>
    of.toSorted((a, b) => a.length - b.length)[0] ?? [];
  const right = one.filter((faults) => faults.length === 0).length;
  const isNot = ownMember(schema, 'not') !== undefined;
  return [
    ...(all.some((faults) => faults.length > 0)
      ? [say('must validate all the schemas (allOf)'), ...all.flat()]
      : []),
    ...(any.length > 0 && any.every((faults) => faults.length > 0)
      ? [say('must validate at least one schema (anyOf)'), ...closest(any)]
      : []),
    ...(one.length > 0 && right === 0
      ? [say('must validate one and only one schema (oneOf). Found none valid'), ...closest(one)]
      : []),
    ...(right > 1
      ? [say(`must validate one and only one schema (oneOf). Found ${right} valid alternatives`)]
      : []),
    ...(isNot && faultsOf(value, objectAt(schema, 'not'), { path }).length === 0
      ? [say('must not validate the schema (not)')]
      : []),
  ];
}
