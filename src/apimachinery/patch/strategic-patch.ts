import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import { type FieldType, fieldsOf, goName, type ListMerge, type Shape } from '../api-types.ts';
import { goValue } from '../go-value.ts';
import { type Draft, isObject, type JsonObject } from '../json.ts';
import { badRequest, rejected, StatusError } from '../status-error.ts';

const directive = '$patch';
const retainKeys = '$retainKeys';
const elementOrder = '$setElementOrder';
const deleteFrom = '$deleteFromPrimitiveList';

/** Returns the error of an invalid patch; kube-apiserver reports most of them as internal errors. */
const fault = (message: string): StatusError => new StatusError(500, '', message);

/**
 * Applies a strategic merge patch: maps are merged, lists by their merge keys where their type has them (else replaced), with the
 * directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder`. Follows apimachinery's
 * `strategicpatch.StrategicMergeMapPatch`.
 *
 * @throws {StatusError} 400, 422 or 500 for an invalid patch
 */
export function strategicPatch(target: JsonObject, patch: JsonObject, type: string): JsonObject {
  return mergeObject(target, patch, { is: 'struct', type, atomic: false });
}

function mergeObject(standing: JsonObject, patch: JsonObject, shape: Shape | undefined): JsonObject {
  if (Object.hasOwn(patch, directive)) return asDirected(patch);
  const out: Draft = { ...retained(standing, patch) };
  const left: Draft = { ...patch };
  delete left[retainKeys];
  for (const key of Object.keys(left)) if (key.startsWith(elementOrder)) inOrder(out, left, key, shape);
  for (const [key, value] of Object.entries(left)) mergeMember(out, key, value, shape);
  return out;
}

function asDirected(patch: JsonObject): JsonObject {
  const { [directive]: how, ...rest } = patch;
  if (how === 'replace') return rest;
  if (how === 'delete') return {};
  throw fault(`unknown patch type: ${asText(how)} in map: ${goValue(patch)}`);
}

/** Formats a value where Go expects a text. */
function asText(value: unknown): string {
  if (value === null) return '%!s(<nil>)';
  if (typeof value === 'boolean') return `%!s(bool=${value})`;
  if (typeof value === 'number') return `%!s(${Number.isInteger(value) ? 'int64' : 'float64'}=${value})`;
  return goValue(value);
}

/** Returns an object reduced to the keys that a patch retains. */
function retained(standing: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch[retainKeys];
  if (!Object.hasOwn(patch, retainKeys)) return standing;
  const bad = badRequest('invalid patch format of retainKeys');
  if (!Array.isArray(keys)) throw bad;
  const retainedKeys = new Set<unknown>(keys);
  for (const [key, value] of Object.entries(patch)) {
    const itself = key === retainKeys || key.startsWith(deleteFrom) || key.startsWith(elementOrder);
    if (value !== null && !itself && !retainedKeys.has(key)) throw bad;
  }
  return Object.fromEntries(Object.entries(standing).filter(([key]) => retainedKeys.has(key)));
}

function mergeMember(out: Draft, key: string, value: unknown, shape: Shape | undefined): void {
  const gone = key.startsWith(deleteFrom);
  const name = gone ? nameIn(key, 'invalid patch format of primitive list') : key;
  const standing = ownMember(out, name);
  if (value === null) delete out[name];
  else if (standing === undefined || kindOf(standing) !== kindOf(value)) {
    if (!gone) place(out, name, withoutNulls(value));
  } else if (isObject(standing) && isObject(value))
    setOwn(
      out,
      name,
      replaced.has(placeOf(shape, name)) ? value : mergeObject(standing, value, memberOf(shape, name)),
    );
  else if (Array.isArray(standing) && Array.isArray(value))
    setOwn(out, name, mergeList(standing, value, listOf(shape, name), gone));
  else setOwn(out, name, value);
}

/** Structs that are replaced as a whole. */
const replaced = new Set(['PodDisruptionBudgetSpec.selector']);
const placeOf = (shape: Shape | undefined, name: string): string =>
  shape?.is === 'struct' ? `${shape.type}.${name}` : '';

/** Returns the name after the prefix of a directive. @throws {StatusError} 400 */
function nameIn(key: string, why: string): string {
  const cut = key.indexOf('/');
  if (cut < 0) throw badRequest(why);
  return key.slice(cut + 1);
}

const kindOf = (value: unknown): string =>
  value === null ? 'nil' : Array.isArray(value) ? 'slice' : typeof value === 'object' ? 'map' : typeof value;

/** Sets a new member; parts with a directive are left out. */
function place(out: Draft, name: string, value: unknown): void {
  const plain = withoutDirectives(value);
  if (plain === undefined) delete out[name];
  else setOwn(out, name, plain);
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const there = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(there.map(([key, inner]) => [key, withoutNulls(inner)]));
}

/** Returns the value without parts that have `$patch`; `undefined` when it has one itself. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const members = Object.entries(value).map(([key, inner]) => [key, withoutDirectives(inner)] as const);
  return Object.fromEntries(members.filter(([, inner]) => inner !== undefined));
}

function fieldOf(shape: Shape | undefined, name: string): FieldType {
  if (shape?.is !== 'struct')
    throw fault(`merging an object in json but data type is not struct, instead is: ${shape?.is ?? 'map'}`);
  const field = fieldsOf(shape.type).get(name);
  if (field) return field;
  throw fault(
    `unable to find api field in struct ${goName(shape.type)} for the json field ${JSON.stringify(name)}`,
  );
}

const memberOf = (shape: Shape | undefined, name: string): Shape => fieldOf(shape, name).shape;

const plainList: Shape & { is: 'list' } = {
  is: 'list',
  of: { is: 'scalar', scalar: 'any' },
  merge: { kind: 'atomic', keys: [] },
};

function listOf(shape: Shape | undefined, name: string): Shape & { is: 'list' } {
  const member = memberOf(shape, name);
  return member.is === 'list' ? member : plainList;
}

/** Returns `map` or the scalar kind of all items. @throws {StatusError} */
function elementKind(...lists: readonly (readonly unknown[])[]): string {
  const [first, ...more] = new Set(lists.flat().map(kindOf));
  if (first === undefined) throw fault('no elements in any of the given slices');
  if (first === 'slice') throw rejected();
  if (more.length > 0) throw fault(`list element types are not identical: ${goValue(lists)}`);
  return first;
}

function mergeList(
  standing: readonly unknown[],
  patch: readonly unknown[],
  { merge, of }: Shape & { is: 'list' },
  gone: boolean,
): readonly unknown[] {
  if (merge.patchKey === undefined && !gone) return patch;
  if (standing.length === 0 && patch.length === 0) return standing;
  if (elementKind(standing, patch) !== 'map') {
    if (gone) {
      const leaving = new Set(patch);
      return standing.filter((item) => !leaving.has(item));
    }
    return ordered([...new Set([...standing, ...patch])], { order: patch, standing, key: '' });
  }
  const key = merge.patchKey ?? '';
  if (key === '') throw fault('cannot merge lists without merge key for struct');
  const special = directed(standing as readonly JsonObject[], patch as readonly JsonObject[], key);
  const merged = mergeKeyed(special.standing, special.patch, merge, of);
  return ordered(merged, { order: special.patch, standing: special.standing, key });
}

/** Applies items with `$patch` directives, and returns the other ones. */
function directed(
  standing: readonly JsonObject[],
  patch: readonly JsonObject[],
  key: string,
): { readonly standing: readonly JsonObject[]; readonly patch: readonly JsonObject[] } {
  const leaving = new Set<unknown>();
  let replace = false;
  for (const item of patch) {
    if (!Object.hasOwn(item, directive)) continue;
    const how = item[directive];
    if (how === 'replace') replace = true;
    else if (how === 'delete') leaving.add(keyIn(item, key));
    else if (how === 'merge') throw fault('merging lists cannot yet be specified in the patch');
    else throw fault(`unknown patch type: ${goValue(how)} in map: ${goValue(item)}`);
  }
  const rest = patch.filter((item) => !Object.hasOwn(item, directive));
  if (replace) return { standing: rest, patch: [] };
  return { standing: standing.filter((item) => !leaving.has(ownMember(item, key))), patch: rest };
}

/** Returns the merge key's value of an item. @throws {StatusError} 500 */
function keyIn(item: JsonObject, key: string): unknown {
  if (!Object.hasOwn(item, key))
    throw fault(`map: ${goValue(item)} does not contain declared merge key: ${key}`);
  return ownMember(item, key);
}

function mergeKeyed(
  standing: readonly JsonObject[],
  patch: readonly JsonObject[],
  { patchKey: key = '' }: ListMerge,
  of: Shape,
): JsonObject[] {
  const out = [...standing];
  const places = new Map<unknown, number>();
  const place = (id: unknown, at: number): void => {
    if (!places.has(id)) places.set(id, at);
  };
  out.forEach((item, at) => {
    place(ownMember(item, key), at);
  });
  for (const item of patch) {
    const id = keyIn(item, key);
    const at = places.get(id) ?? out.length;
    const same = out[at];
    out[at] = same ? mergeObject(same, item, of) : item;
    place(id, at);
  }
  return out;
}

/** Merges a list with its patch in the order that the patch requests, and removes it from the patch. */
function inOrder(out: Draft, left: Draft, directiveKey: string, shape: Shape | undefined): void {
  const order = ownMember(left, directiveKey);
  delete left[directiveKey];
  if (!Array.isArray(order)) throw wrongType('[]interface {}', order);
  const name = nameIn(directiveKey, 'invalid patch format of setElementOrder list');
  const [standing, patch] = [listIn(out, name), listIn(left, name)];
  const list = listOf(shape, name);
  const key = list.merge.patchKey ?? '';
  checkOrder(patch ?? [], order, key);
  if (!standing && !patch) return;
  const merged =
    standing && patch
      ? mergeList(standing, patch, list, false)
      : (standing ?? (withoutDirectives(patch) as readonly unknown[]));
  elementKind(standing ?? [], patch ?? []);
  setOwn(out, name, ordered(merged, { order, standing: standing ?? [], key }));
  delete left[name];
}

const wrongType = (expected: string, found: unknown): StatusError =>
  fault(`expected a ${expected}, but received a ${goTypes[kindOf(found)] ?? 'string'}`);
const goTypes: Readonly<Record<string, string>> = tableOf({
  map: 'map[string]interface {}',
  slice: '[]interface {}',
  boolean: 'bool',
  number: 'int64',
  nil: '%!s(<nil>)',
});

function listIn(object: JsonObject, name: string): readonly unknown[] | undefined {
  const value = ownMember(object, name);
  if (value === undefined || Array.isArray(value)) return value as readonly unknown[] | undefined;
  throw wrongType('[]interface {}', value);
}

/** Checks that list items in the patch are in the order that the patch requests. @throws {StatusError} 500 */
function checkOrder(patch: readonly unknown[], order: readonly unknown[], key: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const staying = patch.filter((item) => !isObject(item) || item[directive] !== 'delete');
  const id = (item: unknown): unknown => {
    if (key === '') return item;
    if (!isObject(item)) throw wrongType('map[string]interface {}', item);
    return keyIn(item, key);
  };
  let [at, found] = [0, 0];
  while (at < staying.length && found < order.length) {
    const item = staying[at];
    if (isObject(item) && Object.hasOwn(item, directive)) at++;
    else if (id(item) === id(order[found++])) at++;
  }
  if (at < staying.length && found >= order.length)
    throw fault(
      `The order in patch list:\n${goValue(patch)}\n doesn't match ${elementOrder} list:\n${goValue(order)}\n`,
    );
}

/**
 * Returns the order of a merged list: items in the patch are in the patch's order, other live items keep theirs; a live item comes before
 * one of the patch only if both were live and in this order.
 */
function ordered(
  items: readonly unknown[],
  at: { readonly order: readonly unknown[]; readonly standing: readonly unknown[]; readonly key: string },
): unknown[] {
  const id = (item: unknown): unknown =>
    at.key === '' ? item : isObject(item) ? ownMember(item, at.key) : undefined;
  const rank = ranks(at.order.map(id));
  const stood = ranks(at.standing.map(id));
  const by =
    (place: ReadonlyMap<unknown, number>) =>
    (a: unknown, b: unknown): number =>
      (place.get(id(a)) ?? 0) - (place.get(id(b)) ?? 0);
  const named = items.filter((item) => rank.has(id(item))).sort(by(rank));
  const others = items.filter((item) => !rank.has(id(item))).sort(by(stood));
  const out: unknown[] = [];
  let [n, o] = [0, 0];
  while (n < named.length && o < others.length) {
    const [mine, theirs] = [stood.get(id(named[n])), stood.get(id(others[o]))];
    out.push(mine !== undefined && theirs !== undefined && theirs < mine ? others[o++] : named[n++]);
  }
  return out.concat(named.slice(n), others.slice(o));
}

/** Returns the first index of each value. */
function ranks(ids: readonly unknown[]): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>();
  ids.forEach((id, i) => {
    if (!found.has(id)) found.set(id, i);
  });
  return found;
}
