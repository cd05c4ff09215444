import { ownMember } from '../../base/own.ts';
import {
  canonicalJson,
  isObject,
  type JsonObject,
  listAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import { parseDuration } from '../../kube/duration.ts';
import { parseTime } from '../cel/library/conversions.ts';
import { equal } from '../cel/values/compare.ts';
import { CelList, CelMap, Duration, EvalError, Timestamp, type Value } from '../cel/values/value.ts';
import { escapedName, unescapedName, withResourceFields } from './rule-types.ts';
import {
  isEmbedded,
  isIntOrString,
  isPreserving,
  itemsOf,
  propertyOf,
  type Structural,
  valuesOf,
} from './structural.ts';

const invalid = (what: string): EvalError => new EvalError(`invalid data, ${what}`);

/**
 * Returns a value as expressions see it by its schema; its parts are made when they are used. Follows `UnstructuredToVal`.
 *
 * @throws {EvalError} for a value that is not as the schema says
 */
export function schemaValue(value: unknown, schema: Structural): Value {
  if (value === null || value === undefined) {
    if (schema['nullable'] === true) return null;
    throw invalid('got null for schema with nullable=false');
  }
  if (isIntOrString(schema)) return intOrString(value);
  const make = makers.get(stringAt(schema, 'type'));
  return make ? make(value, schema) : preserved(value, schema);
}

const makers: ReadonlyMap<string, (value: unknown, schema: Structural) => Value> = new Map<
  string,
  (value: unknown, schema: Structural) => Value
>([
  ['object', objectValue],
  ['array', listValue],
  ['string', (value, schema) => textValue(value, stringAt(schema, 'format'))],
  ['number', numberValue],
  ['integer', (value) => BigInt(integerOf(value, 'expected int'))],
  ['boolean', booleanValue],
]);

function numberValue(value: unknown): Value {
  if (typeof value === 'number') return value;
  throw invalid('expected float');
}
function booleanValue(value: unknown): Value {
  if (typeof value === 'boolean') return value;
  throw invalid('expected bool');
}
function integerOf(value: unknown, why: string): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw invalid(why);
}

function intOrString(value: unknown): Value {
  if (typeof value === 'string') return value;
  return BigInt(integerOf(value, 'expected XIntOrString value to be either a string or integer'));
}

function objectValue(value: unknown, schema: Structural): Value {
  if (!isObject(value)) throw invalid('expected a map for the provided schema with type=object');
  return new SchemaMap(value, isEmbedded(schema) ? withResourceFields(schema) : schema);
}

function listValue(value: unknown, schema: Structural): Value {
  if (!Array.isArray(value)) throw invalid('expected an array for the provided schema with type=array');
  return new SchemaList(value, schema);
}

function textValue(value: unknown, format: string): Value {
  if (typeof value !== 'string') throw invalid('expected string');
  switch (format) {
    case 'duration': {
      const nanos = parseDuration(value);
      if (typeof nanos === 'string') throw new EvalError(`Invalid duration ${value}: ${nanos}`);
      return new Duration(nanos);
    }
    case 'date':
      return pointOf(value, `${value}T00:00:00Z`, 'date');
    case 'date-time':
      return pointOf(value, value.toUpperCase(), 'date-time');
    case 'byte':
      return Buffer.from(value, 'base64');
    default:
      return value;
  }
}

function pointOf(shown: string, text: string, format: string): Value {
  const nanos = parseTime(text);
  if (nanos === undefined) throw new EvalError(`Invalid ${format} formatted string ${shown}`);
  return new Timestamp(nanos);
}

/** Data without a schema: it can be compared as a whole only. */
class Preserved extends CelMap {
  readonly #value: unknown;
  readonly size = 0;
  constructor(value: unknown) {
    super();
    this.#value = value;
  }
  find(): undefined {
    return undefined;
  }
  keys(): Iterable<Value> {
    return [];
  }
  override sameAs(other: CelMap): boolean {
    return other instanceof Preserved && sameJson(this.#value, other.#value);
  }
}

function preserved(value: unknown, schema: Structural): Value {
  if (isPreserving(schema)) return new Preserved(value);
  throw new EvalError(
    `invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${stringAt(schema, 'type')}`,
  );
}

const hasProperties = (schema: Structural): boolean => isObject(schema['properties']);

/** An object with declared properties, or a map. */
class SchemaMap extends CelMap {
  readonly #value: JsonObject;
  readonly #schema: Structural;
  constructor(value: JsonObject, schema: Structural) {
    super();
    this.#value = value;
    this.#schema = schema;
  }

  get size(): number {
    return Object.keys(this.#value).length;
  }
  #schemaOf(name: string): Structural | undefined {
    return hasProperties(this.#schema) ? propertyOf(this.#schema, name) : valuesOf(this.#schema);
  }
  find(key: Value): Value | undefined {
    if (typeof key !== 'string') throw new EvalError('no such overload');
    const isStruct = hasProperties(this.#schema);
    const name = isStruct ? unescapedName(key) : key;
    const value = ownMember(this.#value, name);
    if (value === undefined || (isStruct && value === null)) return undefined;
    const schema = this.#schemaOf(name);
    return schema && schemaValue(value, schema);
  }
  *keys(): Iterable<Value> {
    const isStruct = hasProperties(this.#schema);
    for (const name of Object.keys(this.#value))
      if (this.#schemaOf(name)) yield isStruct ? (escapedName(name) ?? name) : name;
  }
  /** Properties that are not declared are compared as JSON. */
  override sameAs(other: CelMap): boolean | undefined {
    if (!(other instanceof SchemaMap)) return undefined;
    return Object.keys(this.#value).every((name) => this.#sameMember(name, other));
  }
  #sameMember(name: string, other: SchemaMap): boolean {
    const [mine, its] = [ownMember(this.#value, name), ownMember(other.#value, name)];
    const schema = this.#schemaOf(name);
    if (!schema) return its === undefined || sameJson(mine, its);
    const isAbsent = (value: unknown): boolean =>
      value === undefined || (value === null && hasProperties(this.#schema));
    if (isAbsent(mine) || isAbsent(its)) return isAbsent(mine) && isAbsent(its);
    return equal(schemaValue(mine, schema), schemaValue(its, schema));
  }
}

/** A list: one of type set or map has no order, and `+` unites it with another. */
class SchemaList extends CelList {
  readonly #items: readonly unknown[];
  readonly #schema: Structural;
  constructor(items: readonly unknown[], schema: Structural) {
    super();
    this.#items = items;
    this.#schema = schema;
  }

  get size(): number {
    return this.#items.length;
  }
  at(index: number): Value {
    return schemaValue(this.#items[index], itemsOf(this.#schema) ?? {});
  }
  /** What distinguishes an item from the others; undefined where items have places only. */
  get #keyOf(): ((item: unknown) => string) | undefined {
    return listKey(this.#schema);
  }
  override sameAs(other: CelList): boolean | undefined {
    const keyOf = this.#keyOf;
    if (!keyOf || !(other instanceof SchemaList)) return undefined;
    const mine = new Map(this.#items.map((item) => [keyOf(item), item]));
    const items = itemsOf(this.#schema) ?? {};
    return other.#items.every((item) => {
      const key = keyOf(item);
      return mine.has(key) && equal(schemaValue(mine.get(key), items), schemaValue(item, items));
    });
  }
  override plus(other: CelList): CelList {
    const keyOf = this.#keyOf;
    if (!(other instanceof SchemaList)) return super.plus(other);
    if (!keyOf) return new SchemaList([...this.#items, ...other.#items], this.#schema);
    const united = new Map(this.#items.map((item) => [keyOf(item), item]));
    for (const item of other.#items) united.set(keyOf(item), item);
    return new SchemaList([...united.values()], this.#schema);
  }
}

/** Returns what distinguishes the items of a list of type set or map; undefined for other lists. */
export function listKey(schema: Structural): ((item: unknown) => string) | undefined {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return canonicalJson;
  if (type !== 'map') return undefined;
  const keys = listAt(schema, 'x-kubernetes-list-map-keys') as readonly string[];
  return (item) => canonicalJson(isObject(item) ? keys.map((key) => ownMember(item, key) ?? null) : item);
}
