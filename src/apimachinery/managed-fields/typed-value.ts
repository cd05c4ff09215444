import { ownMember } from '../../base/own.ts';
import { fieldsIn, type ListMerge, type Shape, structOf } from '../api-types.ts';
import { goTypeOf, goValue } from '../go-value.ts';
import { isKeyless, keyValue } from './field-set.ts';
import { isObject, type JsonObject } from '../json.ts';

/** Why a value does not match its type, and where. */
interface Fault {
  readonly path: string;
  readonly why: string;
  /** Whether it is an item that has the key of another one. */
  readonly isRepeat?: boolean;
}

const numeric = new Set(['int32', 'int64', 'double']);
const texts = new Set(['string', 'bytes']);
const untyped = new Set(['time', 'microtime', 'quantity']);

/** Formats a JSON value like Go's `%#v`. */
function goSyntax(value: unknown): string {
  if (value === null) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isObject(value)) return typeof value === 'string' ? JSON.stringify(value) : goValue(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${goSyntax(ownMember(value, key))}`);
  return `map[string]interface {}{${members.join(', ')}}`;
}

/**
 * Returns the faults of a value against its type, in the words of structured-merge-diff (`typed.Validate`): one line, or `errors:` and
 * one line each; undefined for a valid value.
 *
 * @param mayRepeat whether items of a list may have the same key. Default: false
 */
export function typedFaults(value: unknown, type: string | Shape, mayRepeat = false): string | undefined {
  const faults = validate(value, typeof type === 'string' ? structOf(type) : type, '').filter(
    ({ isRepeat = false }) => !(mayRepeat && isRepeat),
  );
  if (faults.length === 0) return undefined;
  const lines = faults.map(({ path, why }) => `${path}: ${why}`);
  return lines.length === 1 ? lines[0] : ['errors:', ...lines.map((line) => `  ${line}`)].join('\n');
}

function validate(value: unknown, shape: Shape, path: string): Fault[] {
  if (value === null || value === undefined) return [];
  switch (shape.is) {
    case 'scalar':
      return scalarFault(value, shape.scalar, path);
    case 'list':
      if (!Array.isArray(value)) return [{ path, why: `expected list, got &{${goValue(value)}}` }];
      return listFaults(value, shape, path);
    case 'map':
    case 'struct':
      if (!isObject(value)) return [{ path, why: `expected map, got &{${goValue(value)}}` }];
      return memberFaults(value, shape, path);
  }
}

/** Returns the faults of members; an undeclared one is the last that is looked at. */
function memberFaults(value: JsonObject, shape: Shape & { is: 'map' | 'struct' }, path: string): Fault[] {
  const faults: Fault[] = [];
  for (const [key, inner] of Object.entries(value)) {
    const at = `${path}.${key}`;
    const declared = shape.is === 'map' ? shape.of : fieldOf(shape, key);
    if (!declared) return [...faults, { path: at, why: 'field not declared in schema' }];
    faults.push(...validate(inner, declared, at));
  }
  return faults;
}

/** Structs without known fields accept anything. */
function fieldOf(shape: Shape & { is: 'struct' }, key: string): Shape | undefined {
  const fields = fieldsIn(shape);
  return fields.size === 0 ? { is: 'scalar', scalar: 'any' } : (fields.get(key)?.shape ?? shape.rest);
}

function scalarFault(value: unknown, scalar: string, path: string): Fault[] {
  if (numeric.has(scalar) && typeof value !== 'number')
    return [{ path, why: `expected numeric (int or float), got ${goTypeOf(value)}` }];
  if (texts.has(scalar) && typeof value !== 'string')
    return [{ path, why: `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}` }];
  if (scalar === 'boolean' && typeof value !== 'boolean')
    return [{ path, why: `expected boolean, got &{${goValue(value)}}` }];
  if (untyped.has(scalar) && typeof value === 'object')
    return [{ path, why: `expected any scalar, got &{${goValue(value)}}` }];
  return [];
}

function listFaults(items: readonly unknown[], { of, merge }: Shape & { is: 'list' }, path: string): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  for (const [i, item] of items.entries()) {
    const element = merge.kind === 'atomic' ? `[${i}]` : elementOf(item, merge);
    if (element === undefined) return [...faults, { path, why: `element ${i}: ${keylessText(item, merge)}` }];
    if (merge.kind !== 'atomic' && seen.has(element))
      faults.push({ path, why: `duplicate entries for key ${element}`, isRepeat: true });
    seen.add(element);
    faults.push(...validate(item, of, path + element));
  }
  return faults;
}

/** Returns why a list item has no identity. */
function keylessText(item: unknown, { keys }: Pick<ListMerge, 'keys'>): string {
  if (keys.length === 0) {
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
    const what = item === null ? 'an explicit null' : 'a map type';
    return `associative list without keys has an element that's ${what}`;
  }
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isObject(item)) return 'associative list with keys may not have non-map elements';
  const names = keys.map((key) => JSON.stringify(key)).join(' ');
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`;
}

/** Formats a key of a list item. */
const keyText = (value: unknown): string =>
  typeof value === 'number' ? goValue(value) : JSON.stringify(value);

/** Returns the identity of a list item; undefined where it has none. */
function elementOf(item: unknown, merge: ListMerge): string | undefined {
  if (merge.keys.length === 0) return typeof item === 'object' ? undefined : `[=${keyText(item)}]`;
  if (!isObject(item) || isKeyless(item, merge)) return undefined;
  const keys = merge.keys.filter((key) => keyValue(item, key, merge) !== undefined).sort();
  return `[${keys.map((key) => `${key}=${keyText(keyValue(item, key, merge))}`).join(',')}]`;
}
