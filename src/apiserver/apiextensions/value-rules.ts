import { LRUCache } from 'lru-cache';
import { ownMember } from '../../base/own.ts';
import { regexpFault } from '../../go/regexp-fault.ts';
import { isGoInteger } from '../../go/go-float.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { goQuote } from '../../go/go-quote.ts';
import { goJson } from '../../go/go-json.ts';
import { judgeNumber } from './number-rules.ts';
import { isIntOrString, itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';
import { isUnchanged, standingItems } from './unchanged-values.ts';
import { hasFormat, isFormatOf } from './value-formats.ts';
import { badValue, Findings, unlisted } from './value-findings.ts';

/** One value on its way through validation. */
interface Place {
  readonly path: string;
  /** The value that stands; undefined for a new one. What an update leaves as it is has no faults (ratcheting). */
  readonly old?: unknown;
}

/** What a value is validated for. */
export interface ValueContext {
  /** The value that stands. */
  readonly old?: unknown;
  /** Path of the value in its object, for the fields of faults. Default: it is the object itself. */
  readonly prefix?: string;
}

/** Returns what of a value breaks its schema, in kube-apiserver's words. Follows kube-openapi's `SchemaValidator`. */
export function valueFaults(
  value: unknown,
  schema: Structural,
  { old, prefix = '' }: ValueContext = {},
): readonly FieldFault[] {
  const findings = new Findings();
  judge(value, schema, { path: '', old }, findings);
  return findings.size === 0 ? [] : findings.faults(prefix);
}

function judge(value: unknown, schema: Structural, place: Place, findings: Findings): void {
  const before = findings.size;
  judgeAnew(value, schema, place, findings);
  if (findings.size > before && place.old !== undefined && isUnchanged(value, place.old, schema))
    findings.cut(before);
}

/** Judges a value even if an update leaves it as it was; what is below it is judged only if it changed. */
function judgeAnew(value: unknown, schema: Structural, place: Place, findings: Findings): void {
  judgeType(value, schema, place.path, findings);
  if (value !== null) {
    judgeJunctors(value, schema, place, findings);
    judgeByKind(value, schema, place, findings);
    findings.matches++;
  }
  if (Array.isArray(value)) judgeMembersOfList(value, schema, place, findings);
  judgeEnum(value, schema, place.path, findings);
  if (isObject(value)) judgeObject(value, schema, place, findings);
}

/** The types that a schema allows; none: any. */
const typesOf = (schema: Structural): readonly string[] => {
  if (isIntOrString(schema)) return ['integer', 'string'];
  const type = stringAt(schema, 'type');
  return type === '' ? [] : [type];
};

/** The format of a schema, where its type has that. */
function formatOf(schema: Structural, types: readonly string[]): string {
  const format = stringAt(schema, 'format');
  const [type = ''] = types.length === 1 ? types : [];
  return format !== '' && isFormatOf(type, format) ? format : '';
}

/** Returns type and format of a value, as Go holds it. */
function typeOf(value: unknown): readonly [type: string, format: string] {
  if (value === null) return ['null', ''];
  if (Array.isArray(value)) return ['array', ''];
  if (typeof value === 'number') return isGoInteger(value) ? ['integer', 'int64'] : ['number', 'float64'];
  return [typeof value, ''];
}

/** Adds a fault of the type of a value. */
function addWrongType(path: string, value: string, type: string, findings: Findings): void {
  const { message } = badValue(value, `${path} in body must be of type ${type}: ${goQuote(value)}`);
  findings.add(path, { reason: 'FieldValueTypeInvalid', message });
}

function judgeType(value: unknown, schema: Structural, path: string, findings: Findings): void {
  const types = typesOf(schema);
  if (value === null) {
    if (types.length > 0 && schema['nullable'] !== true)
      addWrongType(path, 'null', types.join(','), findings);
    else findings.matches++;
    return;
  }
  const format = formatOf(schema, types);
  if (types.length === 0 && format === '') return;
  findings.matches++;
  const expected = expectedOf(value, types, format);
  if (expected) addWrongType(path, expected.found, expected.type, findings);
  else findings.matches++;
}

/** Returns what a value should be and is, unless it is of one of the types. */
function expectedOf(
  value: unknown,
  types: readonly string[],
  format: string,
): { readonly type: string; readonly found: string } | undefined {
  const [type, own] = typeOf(value);
  if (types.includes(type) || (type === 'integer' && types.includes('number'))) return undefined;
  if (format === '') return { type: types.join(','), found: type };
  if (typeof value !== 'string' && !Array.isArray(value)) return { type: format, found: own };
  const isOfNumbers = types.includes('number') || types.includes('integer');
  return isOfNumbers ? { type: types.join(','), found: type } : undefined;
}

function judgeByKind(value: unknown, schema: Structural, { path }: Place, findings: Findings): void {
  if (typeof value === 'string') {
    judgeText(value, schema, path, findings);
    findings.matches++;
    const format = formatOf(schema, typesOf(schema));
    if (format !== '') findings.matches++;
    if (format !== '' && !hasFormat(value, format)) addWrongType(path, value, format, findings);
  } else if (typeof value === 'number') {
    const types = typesOf(schema);
    const [type = ''] = types.length === 1 ? types : [];
    judgeNumber(value, { schema, type, format: formatOf(schema, types), path }, findings);
    findings.matches++;
  }
}

/** Adds the first of: too long, too short, another text than its pattern says. */
function judgeText(value: string, schema: Structural, path: string, findings: Findings): void {
  const { maxLength, minLength } = schema;
  // a text has at most as many code points as UTF-16 units
  const isShort = minLength === undefined && (typeof maxLength !== 'number' || value.length <= maxLength);
  const length = isShort ? value.length : Array.from(value).length;
  const pattern = stringAt(schema, 'pattern');
  if (typeof maxLength === 'number' && length > maxLength) findings.add(path, fault.tooLong('', maxLength));
  else if (typeof minLength === 'number' && length < minLength)
    findings.add(path, badValue(value, `${path} in body should be at least ${minLength} chars long`));
  else if (pattern !== '' && !matches(pattern, value)) {
    const wrong = regexpFault(pattern);
    const shown = wrong === undefined ? pattern : `${pattern}, but pattern is invalid: ${wrong}`;
    findings.add(path, badValue(value, `${path} in body should match '${shown}'`));
  }
}

/** Patterns of schemas, read once; without an expression: it cannot be read. */
const expressions = new LRUCache<string, { readonly read: RegExp | undefined }>({ max: 2000 });

/** Reports whether a text matches an expression of Go; none matches one that cannot be read. */
function matches(pattern: string, value: string): boolean {
  let found = expressions.get(pattern);
  if (!found) {
    found = { read: readExpression(pattern) };
    expressions.set(pattern, found);
  }
  return found.read?.test(value) ?? false;
}

function readExpression(pattern: string): RegExp | undefined {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/su.exec(pattern) ?? [];
  try {
    return new RegExp(rest.replaceAll('\\z', '$').replaceAll('\\A', '^'), `u${flags}`);
  } catch {
    return undefined;
  }
}

/** Reports whether a value becomes a listed one where Go converts it: to an integer without its fraction, to a text as a code point. */
function becomes(value: unknown, listed: unknown): boolean {
  if (value === null || typeof value !== 'number') return false;
  if (typeof listed === 'number') return isGoInteger(listed) && Math.trunc(value) === listed;
  if (typeof listed !== 'string' || !isGoInteger(value)) return false;
  return listed === (value >= 0 && value <= 0x10_ff_ff ? String.fromCodePoint(value) : '\uFFFD');
}

function judgeEnum(value: unknown, schema: Structural, path: string, findings: Findings): void {
  if (value !== null) findings.matches++;
  const listed = listAt(schema, 'enum');
  if (listed.length === 0) return;
  // null is in no list
  if (value !== null && listed.some((one) => sameJson(one, value) || becomes(value, one))) return;
  const texts = listed.map((one) => (typeof one === 'string' ? one : goJson(one)));
  findings.add(path, unlisted(value, texts));
}

function judgeSize(
  { count, what }: { readonly count: number; readonly what: 'Items' | 'Properties' },
  schema: Structural,
  path: string,
  findings: Findings,
): void {
  const [most, least] = [ownMember(schema, `max${what}`), ownMember(schema, `min${what}`)];
  if (typeof least === 'number' && count < least) {
    const few = `${path} in body should have at least ${least} ${what.toLowerCase()}`;
    findings.add(path, badValue(count, few));
  }
  if (typeof most === 'number' && count > most) {
    const message = `Too many: ${count}: must have at most ${most} ${most === 1 ? 'item' : 'items'}`;
    findings.add(path, { reason: 'FieldValueTooMany', message });
  }
}

function judgeMembersOfList(
  value: readonly unknown[],
  schema: Structural,
  { path, old }: Place,
  findings: Findings,
): void {
  const items = itemsOf(schema);
  if (items) {
    const standing = old === undefined ? undefined : standingItems(old, schema);
    for (const [i, item] of value.entries())
      judge(item, items, { path: `${path}[${i}]`, old: standing?.(item) }, findings);
  }
  judgeSize({ count: value.length, what: 'Items' }, schema, path, findings);
  findings.matches += 2;
}

function judgeObject(value: JsonObject, schema: Structural, { path, old }: Place, findings: Findings): void {
  judgeSize({ count: Object.keys(value).length, what: 'Properties' }, schema, path, findings);
  const values = valuesOf(schema);
  for (const key of Object.keys(value)) {
    const declared = propertyOf(schema, key);
    const member = declared ?? values;
    if (!member) continue;
    const at = declared && path === '' ? key : `${path}.${key}`;
    judge(
      ownMember(value, key),
      member,
      { path: at, old: isObject(old) ? ownMember(old, key) : undefined },
      findings,
    );
  }
  for (const key of listAt(schema, 'required') as readonly string[])
    if (!Object.hasOwn(value, key)) {
      const at = `${path}.${key}`;
      findings.add(at, fault.required(''), `${at} in body is required`);
    }
  findings.matches++;
}

const junctors = ['allOf', 'anyOf', 'oneOf', 'not'];

/** Adds faults of `anyOf`, `oneOf`, `allOf` and `not`. Follows kube-openapi's `schemaPropsValidator`. */
function judgeJunctors(value: unknown, schema: Structural, place: Place, findings: Findings): void {
  findings.matches += 2;
  if (!junctors.some((key) => Object.hasOwn(schema, key))) return;
  const judged = (inner: Structural): Findings => {
    const own = new Findings();
    judgeAnew(value, inner, place, own);
    return own;
  };
  const name = goQuote(place.path);
  judgeAny(objectsAt(schema, 'anyOf').map(judged), name, findings);
  judgeOne(objectsAt(schema, 'oneOf').map(judged), name, findings);
  const all = objectsAt(schema, 'allOf').map(judged);
  for (const own of all) findings.merge(own);
  const right = all.filter(({ size }) => size === 0).length;
  if (right < all.length)
    findings.say(`${name} must validate all the schemas (allOf)${right === 0 ? '. None validated' : ''}`);
  if (ownMember(schema, 'not') !== undefined && judged(objectAt(schema, 'not')).size === 0)
    findings.say(`${name} must not validate the schema (not)`);
}

/** Returns the first one of those with the most matches. */
const closest = (all: readonly Findings[]): Findings | undefined =>
  all.reduce<Findings | undefined>(
    (best, one) => (best && best.matches >= one.matches ? best : one),
    undefined,
  );

function judgeAny(all: readonly Findings[], name: string, findings: Findings): void {
  if (all.length === 0) return;
  const right = all.find(({ size }) => size === 0);
  if (!right) findings.say(`${name} must validate at least one schema (anyOf)`);
  const closestOne = right ?? closest(all);
  if (closestOne) findings.merge(closestOne);
}

function judgeOne(all: readonly Findings[], name: string, findings: Findings): void {
  if (all.length === 0) return;
  const right = all.filter(({ size }) => size === 0);
  const [first] = right;
  if (right.length === 1 && first) {
    findings.merge(first);
    return;
  }
  const found = right.length === 0 ? 'Found none valid' : `Found ${right.length} valid alternatives`;
  findings.say(`${name} must validate one and only one schema (oneOf). ${found}`);
  const closestOne = right.length === 0 ? closest(all) : undefined;
  if (closestOne) findings.merge(closestOne);
}
