import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import { fieldsIn, type FieldType, type ListMerge, type Shape } from '../api-types.ts';
import { canonicalJson, type Draft, isObject, type JsonObject, sameJson } from '../json.ts';

/** A set of field paths: a tree whose nodes may be members. Keys are written as in `fieldsV1`: `f:name`, `k:{…}`, `v:…`. */
export interface FieldSet {
  member: boolean;
  readonly children: Map<string, FieldSet>;
}

export const emptySet = (): FieldSet => ({ member: false, children: new Map() });

export function isEmptySet(set: FieldSet): boolean {
  if (set.member) return false;
  for (const child of set.children.values()) if (!isEmptySet(child)) return false;
  return true;
}

/** Returns the node at `key`, created if missing. */
function childOf(set: FieldSet, key: string): FieldSet {
  let child = set.children.get(key);
  if (!child) {
    child = emptySet();
    set.children.set(key, child);
  }
  return child;
}

/** The sets of `fieldsV1` objects that were created here; objects made from one template share theirs. */
const written = new WeakMap<JsonObject, FieldSet>();
const pool = new Map<string, JsonObject>();
const poolMost = 1000;

/** Parses `fieldsV1`; unknown kinds of keys are skipped. @returns `undefined` when it is not a set of fields */
export function readSet(fields: unknown): FieldSet | undefined {
  if (!isObject(fields)) return emptySet();
  const cached = written.get(fields);
  if (cached) return cached;
  try {
    return parsed(fields);
  } catch (reason) {
    if (reason instanceof SyntaxError) return undefined;
    throw reason;
  }
}

export const parseSet = (fields: unknown): FieldSet => readSet(fields) ?? emptySet();

function parsed(fields: JsonObject): FieldSet {
  const set = emptySet();
  for (const [name, inner] of Object.entries(fields)) {
    if (name === '.') set.member = true;
    else {
      const key = readKey(name);
      if (key === undefined) continue;
      const child = isObject(inner) ? parsed(inner) : emptySet();
      if (child.children.size === 0) child.member = true;
      set.children.set(key, child);
    }
  }
  return set;
}

/** Returns the canonical form of a key. @returns `undefined` for an unknown kind @throws {SyntaxError} for a key without a kind */
function readKey(name: string): string | undefined {
  if (name.length < 2 || name[1] !== ':') throw new SyntaxError(`${name} names no kind of field`);
  if (name.startsWith('f:')) return name;
  if (name.startsWith('k:')) return `k:${canonicalJson(JSON.parse(name.slice(2)))}`;
  if (name.startsWith('v:')) return `v:${canonicalJson(JSON.parse(name.slice(2)))}`;
  return /^i:[+-]?\d+$/.test(name) ? name : undefined;
}

/** Returns the set as `fieldsV1` with sorted members. Equal sets return the same object, as long as it is in use. */
export function writeSet(set: FieldSet): JsonObject {
  const fields = fieldsOfSet(set);
  const text = JSON.stringify(fields);
  const cached = pool.get(text);
  if (cached) return cached;
  const [oldest] = pool.keys();
  if (pool.size >= poolMost && oldest !== undefined) pool.delete(oldest);
  pool.set(text, fields);
  written.set(fields, set);
  return fields;
}

function fieldsOfSet(set: FieldSet): JsonObject {
  const out: Draft = {};
  const inner = [...set.children].filter(([, child]) => !isEmptySet(child));
  if (set.member && inner.length > 0) out['.'] = {};
  for (const [key, child] of inner.sort(([a], [b]) => byElement(a, b))) setOwn(out, key, fieldsOfSet(child));
  return out;
}

/** Compares two keys as structured-merge-diff sorts path elements: items with numbers as keys are sorted by the numbers. */
function byElement(a: string, b: string): number {
  const [one, other] = [numberIn.exec(a), numberIn.exec(b)];
  if (one && other && one[1] === other[1] && one[2] !== other[2]) return Number(one[2]) - Number(other[2]);
  return a < b ? -1 : 1;
}

/** What stands before the first number of a key, and that number. */
const numberIn = /^([kv]:(?:\{"[^"]*":)?)(-?\d[\d.]*)/;

// Results may share branches with their inputs: no set is modified after construction.

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  const children = new Map(a.children);
  for (const [key, child] of b.children) {
    const standing = children.get(key);
    children.set(key, standing ? union(standing, child) : child);
  }
  return { member: a.member || b.member, children };
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b)) return a;
  const children = new Map<string, FieldSet>();
  for (const [key, child] of a.children) {
    const less = b.children.get(key);
    const rest = less ? difference(child, less) : child;
    if (!isEmptySet(rest)) children.set(key, rest);
  }
  return { member: a.member && !b.member, children };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [key, child] of a.children) {
    const other = b.children.get(key);
    const both = other && intersection(child, other);
    if (both && !isEmptySet(both)) children.set(key, both);
  }
  return { member: a.member && b.member, children };
}

/** Returns the set without some branches, each a path of keys. */
export function strip(set: FieldSet, paths: readonly (readonly string[])[]): FieldSet {
  const out: FieldSet = { member: set.member, children: new Map() };
  for (const [key, child] of set.children) {
    const below = paths.filter((path) => path[0] === key).map((path) => path.slice(1));
    if (below.some((path) => path.length === 0)) continue;
    const rest = below.length > 0 ? strip(child, below) : child;
    if (!isEmptySet(rest)) out.children.set(key, rest);
  }
  return out;
}

/** Yields every member's path. */
export function* paths(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  if (set.member) yield prefix;
  for (const [key, child] of set.children) yield* paths(child, [...prefix, key]);
}

/** Formats a path as in conflict messages: `.spec.containers[name="c"].image`. */
export function pathText(path: readonly string[]): string {
  return path
    .map((key) => {
      if (key.startsWith('f:')) return `.${key.slice(2)}`;
      if (key.startsWith('v:')) return `[=${key.slice(2)}]`;
      const keys = JSON.parse(key.slice(2)) as Record<string, unknown>;
      return `[${Object.entries(keys)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(',')}]`;
    })
    .join('');
}

/** Default values of keys of Kubernetes' own types; the others are texts, which default to empty. */
const ownDefaults: Readonly<Record<string, unknown>> = tableOf({
  protocol: 'TCP',
  containerPort: 0,
  port: 0,
});

/** Returns the value that a list item has for a key, or the key's default; undefined where a schema gives it none. */
export const keyValue = (
  item: JsonObject,
  key: string,
  { defaults = ownDefaults }: Pick<ListMerge, 'defaults'>,
): unknown => ownMember(item, key) ?? ownMember(defaults, key) ?? (defaults === ownDefaults ? '' : undefined);

/** Reports whether a list item leaves out every key, and none of them has a default value. */
export const isKeyless = (
  item: JsonObject,
  { keys, defaults }: Pick<ListMerge, 'keys' | 'defaults'>,
): boolean =>
  defaults !== undefined &&
  keys.length > 0 &&
  keys.every((key) => ownMember(item, key) === undefined && ownMember(defaults, key) === undefined);

/** An item of a list of objects with keys has none: who owns which fields cannot be told. */
export class KeylessItem extends Error {
  override readonly name = 'KeylessItem';
}

/** Returns the key of a list item: `k:{"name":"c"}`, or `v:…` in a set of scalars. */
export function itemKey(item: unknown, merge: ListMerge): string {
  if (!isObject(item)) return `v:${JSON.stringify(item)}`;
  if (isKeyless(item, merge)) throw new KeylessItem();
  return `k:${canonicalJson(Object.fromEntries(merge.keys.map((key) => [key, keyValue(item, key, merge)])))}`;
}

/** One place in a value, as the walker sees it: a value as a whole, or one with parts. */
interface Part {
  readonly value: unknown;
  readonly shape: Shape | undefined;
  readonly declared: boolean;
  /** Items of a list with the same key. */
  readonly twins?: readonly unknown[];
}
type Parts = ReadonlyMap<string, Part>;

/** Returns the shape to use where the schema says nothing: objects and null have parts, all other values are whole. */
function settled(shape: Shape | undefined, ...values: readonly unknown[]): Shape | undefined {
  if (shape?.is !== 'scalar' || !shape.deduced) return shape;
  const present = values.filter((value) => value !== undefined);
  const haveParts = present.some(isObject) && present.every((value) => value === null || isObject(value));
  return haveParts ? { is: 'map', of: shape, atomic: false } : shape;
}

function partsOf(value: unknown, shape: Shape | undefined): Parts | undefined {
  switch (shape?.is) {
    case 'struct':
      return shape.atomic || !isObject(value) ? undefined : structParts(value, fieldsIn(shape), shape.rest);
    case 'map':
      return shape.atomic || !isObject(value) ? undefined : mapParts(value, shape.of);
    case 'list':
      return shape.merge.kind !== 'atomic' && Array.isArray(value) ? listParts(value, shape) : undefined;
    default:
      return undefined;
  }
}

const structParts = (
  value: JsonObject,
  fields: ReadonlyMap<string, FieldType>,
  rest: Shape | undefined,
): Parts | undefined =>
  fields.size === 0
    ? undefined
    : new Map(
        Object.entries(value).map(([key, inner]) => [
          `f:${key}`,
          {
            value: inner,
            shape: fields.get(key)?.shape ?? rest,
            declared: rest === undefined || fields.has(key),
          },
        ]),
      );

const mapParts = (value: JsonObject, shape: Shape): Parts =>
  new Map(
    Object.entries(value).map(([key, inner]) => [`f:${key}`, { value: inner, shape, declared: false }]),
  );

/** Returns items by key; items with the same key are one value that is only compared as a whole. */
function listParts(value: readonly unknown[], { merge, of: shape }: Shape & { is: 'list' }): Parts {
  const parts = new Map<string, Part>();
  for (const item of value) {
    const key = itemKey(item, merge);
    const twin = parts.get(key);
    const items = twin && (twin.twins ?? [twin.value]);
    if (items)
      parts.set(key, { value: [...items, item], shape: undefined, declared: false, twins: [...items, item] });
    else parts.set(key, { value: item, shape, declared: false });
  }
  return parts;
}

const isAtomic = (shape: Shape | undefined): boolean => {
  if (!shape || shape.is === 'scalar') return true;
  if (shape.is === 'list') return shape.merge.kind === 'atomic';
  return shape.atomic || (shape.is === 'struct' && fieldsIn(shape).size === 0);
};

/** Returns every field that an object sets (structured-merge-diff `ToFieldSet`). */
export function setOf(value: unknown, shape: Shape): FieldSet {
  const set = emptySet();
  fill(set, value, shape);
  return set;
}

function fill(set: FieldSet, value: unknown, declared: Shape | undefined): void {
  const shape = settled(declared, value);
  const parts = isAtomic(shape) ? undefined : partsOf(value, shape);
  if (!parts) {
    if (isAtomic(shape)) set.member = true;
    return;
  }
  for (const [key, part] of parts) {
    const child = childOf(set, key);
    fill(child, part.value, part.shape);
    const hollow = part.value === null || (isObject(part.value) && Object.keys(part.value).length === 0);
    if (!part.declared || hollow) child.member = true;
  }
}

/** Returns the set with every declared field that has members below it (structured-merge-diff `EnsureNamedFieldsAreMembers`). */
export function withNamedFields(set: FieldSet, shape: Shape | undefined): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [key, child] of set.children) {
    const { of, isDeclared } = shapeAt(shape, key);
    const inner = withNamedFields(child, of);
    children.set(key, isDeclared ? { member: true, children: inner.children } : inner);
  }
  return { member: set.member, children };
}

/** The shape at a key of a set, and whether it is a declared field. */
function shapeAt(
  shape: Shape | undefined,
  key: string,
): { readonly of: Shape | undefined; readonly isDeclared: boolean } {
  if (shape?.is === 'struct') {
    const field = fieldsIn(shape).get(key.slice(2));
    return { of: field?.shape ?? shape.rest, isDeclared: field !== undefined };
  }
  return { of: shape?.is === 'map' || shape?.is === 'list' ? shape.of : shape, isDeclared: false };
}

/** The differences between two objects of one shape. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two objects (structured-merge-diff `Compare`); `undefined` is absent, `null` is present without parts. */
export function compare(before: unknown, after: unknown, shape: Shape): Comparison {
  const result = { added: emptySet(), modified: emptySet(), removed: emptySet() };
  walk(before, after, shape, result);
  return result;
}

function walk(before: unknown, after: unknown, declared: Shape | undefined, at: Comparison): void {
  if (before === after) return;
  if (before === undefined) at.added.member = true;
  else if (after === undefined) at.removed.member = true;
  const [left, right] = [settled(declared, before), settled(declared, after)];
  // where the schema says nothing, a value that has parts may become a whole one, and the other way round
  if (before !== undefined) walkAs(before, after, left, at);
  if (before === undefined || isAtomic(left) !== isAtomic(right)) walkAs(before, after, right, at);
}

/** Compares two values as a shape says: each as a whole or by its parts. */
function walkAs(before: unknown, after: unknown, shape: Shape | undefined, at: Comparison): void {
  const areBoth = before !== undefined && after !== undefined;
  const left = isAtomic(shape) ? noParts : (partsOf(before, shape) ?? noParts);
  const right = isAtomic(shape) ? noParts : (partsOf(after, shape) ?? noParts);
  if (left.size > 0 || right.size > 0) walkParts(left, right, at);
  else if (areBoth && !sameJson(before, after)) at.modified.member = true;
}

const noParts: Parts = new Map();

function walkParts(left: Parts, right: Parts, at: Comparison): void {
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [before, after] = [left.get(key), right.get(key)];
    // Most of an object is unchanged: comparing parts as a whole is cheaper than walking them.
    if (sameJson(before?.value, after?.value)) continue;
    const below = {
      added: childOf(at.added, key),
      modified: childOf(at.modified, key),
      removed: childOf(at.removed, key),
    };
    if (before && after && (before.twins === undefined) !== (after.twins === undefined)) {
      walk(before.value, undefined, before.shape, below); // from one item to several, or back: no part is the same place
      walk(undefined, after.value, after.shape, below);
    } else walk(before?.value, after?.value, (after ?? before)?.shape, below);
  }
}

/** Merges an applied configuration into a live value (structured-merge-diff `Merge`); neither is modified. */
export function merge(live: unknown, applied: unknown, declared: Shape | undefined): unknown {
  if (applied === undefined) return live;
  const shape = settled(declared, live, applied);
  if (live === undefined || isAtomic(shape)) return applied;
  if (shape?.is === 'list') return mergeList(live, applied, shape);
  if (!isObject(live) || !isObject(applied)) return applied ?? live;
  const fields = shape?.is === 'struct' ? fieldsIn(shape) : undefined;
  const out: Draft = { ...live };
  for (const [key, inner] of Object.entries(applied))
    setOwn(out, key, merge(ownMember(live, key), inner, shapeIn(shape, fields, key)));
  return out;
}

const shapeIn = (
  shape: Shape | undefined,
  fields: ReadonlyMap<string, FieldType> | undefined,
  key: string,
): Shape | undefined => {
  if (shape?.is === 'map') return shape.of;
  return fields?.get(key)?.shape ?? (shape?.is === 'struct' ? shape.rest : undefined);
};

function mergeList(live: unknown, applied: unknown, shape: Shape & { is: 'list' }): unknown {
  if (!Array.isArray(live) || !Array.isArray(applied)) return applied ?? live;
  const how = shape.merge;
  const standing = new Map(live.map((item: unknown) => [itemKey(item, how), item]));
  const appliedByKey = new Map(applied.map((item: unknown) => [itemKey(item, how), item]));
  const out = live.map((item: unknown) => {
    const key = itemKey(item, how);
    return appliedByKey.has(key) ? merge(item, appliedByKey.get(key), shape.of) : item;
  });
  for (const [key, item] of appliedByKey) if (!standing.has(key)) out.push(item);
  return out;
}

/** Returns the value without the members of a set; containers that are members are removed as a whole. */
export function removeFields(value: unknown, set: FieldSet, declared: Shape | undefined): unknown {
  const shape = settled(declared, value);
  if (isAtomic(shape)) return value;
  if (Array.isArray(value) && shape?.is === 'list') {
    return value.flatMap((item: unknown): unknown[] => {
      const below = set.children.get(itemKey(item, shape.merge));
      if (!below) return [item];
      return below.member ? [] : [removeFields(item, below, shape.of)];
    });
  }
  if (!isObject(value)) return value;
  const fields = shape?.is === 'struct' ? fieldsIn(shape) : undefined;
  const out: Draft = {};
  for (const [key, inner] of Object.entries(value)) {
    const below = set.children.get(`f:${key}`);
    if (!below) setOwn(out, key, inner);
    else if (!below.member) setOwn(out, key, removeFields(inner, below, shapeIn(shape, fields, key)));
  }
  return out;
}
