import { emptyStruct } from '../serializer/codec.ts';
import {
  compare,
  type Comparison,
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  KeylessItem,
  merge,
  parseSet,
  paths,
  pathText,
  readSet,
  removeFields,
  setOf,
  strip,
  union,
  withNamedFields,
  writeSet,
} from './field-set.ts';
import { type Shape, structOf } from '../api-types.ts';
import { isObject, type JsonObject, objectAt, objectsAt, sameJson, stringAt, withMetadata } from '../json.ts';
import { type Cause, StatusError } from '../status-error.ts';
import { seconds } from '../times.ts';
import { typedFaults } from './typed-value.ts';

/** The manager, operation and API version of a write. */
export interface Writer {
  readonly manager: string;
  readonly operation: 'Update' | 'Apply';
  readonly apiVersion: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
}

/** An owner and its fields. */
export interface Managed {
  readonly writer: Writer;
  readonly time: string;
  readonly set: FieldSet;
}

/** Fields without owners. */
const unowned: readonly (readonly string[])[] = [
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata', 'f:name'],
  ['f:metadata', 'f:namespace'],
  ['f:metadata', 'f:creationTimestamp'],
  ['f:metadata', 'f:selfLink'],
  ['f:metadata', 'f:uid'],
  ['f:metadata', 'f:clusterName'],
  ['f:metadata', 'f:generation'],
  ['f:metadata', 'f:managedFields'],
  ['f:metadata', 'f:resourceVersion'],
  ['f:metadata', 'f:deletionTimestamp'],
  ['f:metadata', 'f:deletionGracePeriodSeconds'],
];

/** Whether two writes are of one owner. An applier is the same in all versions. */
export const sameWriter = (a: Writer, b: Writer): boolean =>
  a.manager === b.manager &&
  a.operation === b.operation &&
  (a.operation === 'Apply' || a.apiVersion === b.apiVersion) &&
  (a.subresource ?? '') === (b.subresource ?? '');

/** Returns the owners of an object's fields; of several entries of one the last counts. */
export function readOwners(object: JsonObject): Managed[] {
  const all = entriesOf(object);
  return all.filter((one, i) => all.findLastIndex((other) => sameWriter(one.writer, other.writer)) === i);
}

function entriesOf(object: JsonObject): Managed[] {
  return objectsAt(objectAt(object, 'metadata'), 'managedFields').map((entry) => ({
    writer: {
      manager: stringAt(entry, 'manager'),
      operation: stringAt(entry, 'operation') === 'Apply' ? 'Apply' : 'Update',
      apiVersion: stringAt(entry, 'apiVersion'),
      ...(stringAt(entry, 'subresource') && { subresource: stringAt(entry, 'subresource') }),
    },
    time: stringAt(entry, 'time'),
    set: parseSet(entry['fieldsV1']),
  }));
}

/** Returns an object with these owners, in their order. */
export function writeOwners(object: JsonObject, all: readonly Managed[]): JsonObject {
  const entries = all
    .filter(({ set }) => !isEmptySet(set))
    .sort(inOrder)
    .map(({ writer, time, set }) => ({
      manager: writer.manager,
      operation: writer.operation,
      apiVersion: writer.apiVersion,
      ...(time && { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: writeSet(set),
      ...(writer.subresource && { subresource: writer.subresource }),
    }));
  return withMetadata(object, { managedFields: entries.length > 0 ? entries : undefined });
}

/** Sorts Apply before Update, then by time, manager, version and subresource (apimachinery `sortEncodedManagedFields`). */
function inOrder(a: Managed, b: Managed): number {
  const keys = ({ writer, time }: Managed): readonly string[] => [
    writer.operation,
    time,
    writer.manager,
    writer.apiVersion,
    writer.subresource ?? '',
  ];
  const [one, other] = [keys(a), keys(b)];
  const at = one.findIndex((key, i) => key !== other[i]);
  return at < 0 ? 0 : (one[at] ?? '') < (other[at] ?? '') ? -1 : 1;
}

const bare = (object: JsonObject): JsonObject => withMetadata(object, { managedFields: undefined });

/** Fields that a write to this (sub)resource cannot change; it does not become their owner. */
export type ResetFields = readonly (readonly string[])[];

/**
 * Returns the object with updated owners after an update: the writer owns what it added or changed, others lose it. Without a change the
 * entries stay unchanged (structured-merge-diff `Update`).
 */
export function manageUpdate(
  live: JsonObject | undefined,
  object: JsonObject,
  type: string | Shape,
  at: {
    readonly writer: Writer;
    readonly now: number;
    readonly reset: ResetFields;
    /** Whether the list of owners was sent empty. */
    readonly forget?: boolean;
    /** The zero object, if it is more than an empty struct of the type. */
    readonly zero?: JsonObject;
  },
): JsonObject {
  const before = ownersBefore(live, object, at);
  const isUntracked = live !== undefined && before.length === 0;
  if (isUntracked || !areTyped([live, object], type)) return bare(object);
  const managed = before.filter(({ writer }) => mayOwn(writer, at.writer));
  const compared = comparison(bare(live ?? at.zero ?? zeroOf(type)), bare(object), shapeBy(type));
  if (!compared) return bare(object);
  const touched = strip(union(compared.added, compared.modified), at.reset);
  const changed = { removed: strip(compared.removed, at.reset) };
  const own = managed.findLast((entry) => sameWriter(entry.writer, at.writer));
  const others = managed
    .filter((entry) => !sameWriter(entry.writer, at.writer))
    .map((entry) => ({ ...entry, set: difference(difference(entry.set, touched), changed.removed) }));
  const ownSet = own?.set ?? parseSet({});
  const gained = strip(union(difference(ownSet, changed.removed), touched), [...unowned, ...at.reset]);
  const time = own && sameJson(writeSet(own.set), writeSet(gained)) ? own.time : seconds(at.now);
  return writeOwners(object, [...others, { writer: at.writer, set: gained, time }]);
}

const shapeBy = (type: string | Shape): Shape => (typeof type === 'string' ? structOf(type) : type);
const zeroOf = (type: string | Shape): JsonObject => (typeof type === 'string' ? emptyStruct(type) : {});

/** Reports whether objects have the types of their schema, as those of built-in kinds always do. No owners are kept for any others. */
const areTyped = (objects: readonly (JsonObject | undefined)[], type: string | Shape): boolean =>
  typeof type === 'string' || objects.every((object) => typedFaults(object, type, true) === undefined);

/** Reports whether an owner's version can be one of the object that `writer` changes: of the same group, or events of either group. */
function mayOwn({ apiVersion }: Writer, writer: Writer): boolean {
  const groups = [apiVersion, writer.apiVersion].map((one) => (one.includes('/') ? one.split('/')[0] : ''));
  return groups[0] === groups[1] || (groups.includes('events.k8s.io') && groups.includes(''));
}

/** Compares two objects; undefined when a list has an item without a key, so that owners cannot be told. */
function comparison(before: JsonObject, after: JsonObject, shape: Shape): Comparison | undefined {
  try {
    return compare(before, after, shape);
  } catch (reason) {
    if (reason instanceof KeylessItem) return undefined;
    throw reason;
  }
}

/**
 * Returns the owners before an update: those in the new object, unless it is an update of a subresource, otherwise those in the live
 * object. An object without any owned field is no longer tracked. Follows `decodeLiveOrNew` and `skipNonAppliedManager` (apimachinery).
 */
function ownersBefore(
  live: JsonObject | undefined,
  object: JsonObject,
  { writer, forget = false }: { readonly writer: Writer; readonly forget?: boolean },
): readonly Managed[] {
  if (writer.subresource === undefined) {
    if (forget || clearsOwners(object)) return [];
    const brought = isReadable(object) ? readOwners(object) : [];
    if (brought.length > 0) return brought;
  }
  return live ? readOwners(live) : [];
}

const isReadable = (object: JsonObject): boolean =>
  objectsAt(objectAt(object, 'metadata'), 'managedFields').every(
    (entry) =>
      ['Apply', 'Update'].includes(stringAt(entry, 'operation')) &&
      entry['fieldsType'] === 'FieldsV1' &&
      readSet(entry['fieldsV1']) !== undefined,
  );

/** An empty list of owners, or one empty entry, requests to clear all. */
function clearsOwners(object: JsonObject): boolean {
  const entries = objectAt(object, 'metadata')['managedFields'];
  return Array.isArray(entries) && entries.every((entry) => !isObject(entry) || !('manager' in entry));
}

/** Copies the entries of `from`, for writes that do not change owners. */
export const keepManaged = (object: JsonObject, from: JsonObject | undefined): JsonObject =>
  withMetadata(object, { managedFields: objectAt(from, 'metadata')['managedFields'] });

/**
 * Performs server-side apply: merges `config` into the live object, removes what the manager applied before and no longer does, and
 * updates the owners.
 *
 * @throws {StatusError} 409 when others own a field with another value and `force` is not set
 */
export function manageApply(
  live: JsonObject,
  config: JsonObject,
  type: string | Shape,
  at: {
    readonly writer: Writer;
    readonly now: number;
    readonly force: boolean;
    readonly reset: ResetFields;
    /** Applies defaults and normalization to the merged object. */
    readonly finish: (object: JsonObject) => JsonObject;
  },
): JsonObject {
  const shape = shapeBy(type);
  const managed = ownersBeforeApply(live, shape, at);
  const own = managed.find((entry) => sameWriter(entry.writer, at.writer));
  const others = managed.filter((entry) => entry !== own);
  // a name makes sure that the metadata are not owned as a whole
  const desired = strip(setOf(withMetadata(bare(config), { name: '' }), shape), [...unowned, ...at.reset]);
  const merged = merge(bare(live), bare(config), shape) as JsonObject;
  const dropped = own ? difference(withNamedFields(own.set, shape), desired) : parseSet({});
  const owned = others.reduce((set, entry) => union(set, entry.set), desired);
  const pruned = prune(merged, dropped, owned, shape);
  const changed = compare(bare(live), pruned, shape);
  const touched = intersection(union(changed.added, changed.modified), desired);
  if (!at.force) refuseConflicts(others, touched);
  const finished = at.finish(pruned);
  const rest = others.map((entry) => ({
    ...entry,
    set: at.force ? difference(entry.set, touched) : entry.set,
  }));
  // an apply that changes nothing leaves the time as it was, or absent
  const time = sameJson(bare(live), pruned) ? (own?.time ?? '') : seconds(at.now);
  const removed = strip(changed.removed, at.reset);
  const after = rest.map((entry) => ({ ...entry, set: difference(entry.set, removed) }));
  return writeOwners(finished, [...after, { writer: at.writer, set: desired, time }]);
}

/**
 * Returns the owners before an apply. The fields of an object without owners are those of the manager `before-first-apply`. Follows
 * `skipNonAppliedManager` (apimachinery).
 */
function ownersBeforeApply(
  live: JsonObject,
  shape: Shape,
  { writer, now, reset }: { readonly writer: Writer; readonly now: number; readonly reset: ResetFields },
): readonly Managed[] {
  const managed = readOwners(live);
  if (managed.length > 0 || stringAt(objectAt(live, 'metadata'), 'uid') === '') return managed;
  const set = strip(compare(bare({}), bare(live), shape).added, [...unowned, ...reset]);
  const before: Writer = { ...writer, manager: 'before-first-apply', operation: 'Update' };
  return [{ writer: before, time: seconds(now), set }];
}

/** Returns an object with one more owner, who applied a part of it that had no owner. */
export function addApplied(
  object: JsonObject,
  config: JsonObject,
  type: string | Shape,
  { writer, now }: { readonly writer: Writer; readonly now: number },
): JsonObject {
  const set = strip(setOf(config, shapeBy(type)), unowned);
  return writeOwners(object, [...readOwners(object), { writer, set, time: seconds(now) }]);
}

/** Removes dropped fields unless another manager owns them or something below them. */
function prune(object: JsonObject, dropped: FieldSet, owned: FieldSet, shape: Shape): JsonObject {
  const free = parseSet({});
  let result = free;
  for (const path of paths(dropped)) {
    if (path.length === 1 && path[0] === 'f:metadata') continue;
    let at: FieldSet | undefined = owned;
    for (const key of path) at = at?.children.get(key);
    if (at && !isEmptySet(at)) continue;
    result = union(result, pathSet(path));
  }
  return removeFields(object, result, shape) as JsonObject;
}

export function pathSet(path: readonly string[]): FieldSet {
  const root: FieldSet = { member: path.length === 0, children: new Map() };
  const [first, ...rest] = path;
  if (first !== undefined) root.children.set(first, pathSet(rest));
  return root;
}

/** @throws {StatusError} 409 */
function refuseConflicts(others: readonly Managed[], touched: FieldSet): void {
  const causes: Cause[] = [];
  const groups = new Map<string, string[]>();
  for (const { writer, set } of others) {
    const fields = [...paths(intersection(set, touched))].map(pathText).sort();
    if (fields.length === 0) continue;
    const who = conflictName(writer);
    groups.set(who, [...(groups.get(who) ?? []), ...fields]);
    for (const field of fields)
      causes.push({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field });
  }
  if (causes.length === 0) return;
  const count = `conflict${causes.length > 1 ? 's' : ''}`;
  const lines = [...groups].map(([who, fields]) =>
    fields.length === 1 && groups.size === 1
      ? `conflict with ${who}: ${fields[0] ?? ''}`
      : `conflicts with ${who}:\n${fields.map((field) => `- ${field}`).join('\n')}`,
  );
  throw new StatusError(409, 'Conflict', `Apply failed with ${causes.length} ${count}: ${lines.join('\n')}`, {
    details: { causes },
  });
}

/** Returns the other manager's name in a conflict message. */
function conflictName({ manager, operation, apiVersion, subresource }: Writer): string {
  if (operation === 'Apply') return `"${manager}"`;
  return `"${manager}"${subresource ? ` with subresource "${subresource}"` : ''} using ${apiVersion}`;
}

/** True when two versions of an object differ in nothing but the times of their field owners. */
export function onlyTimesDiffer(a: JsonObject, b: JsonObject): boolean {
  const timeless = (object: JsonObject): JsonObject =>
    withMetadata(object, {
      managedFields: objectsAt(objectAt(object, 'metadata'), 'managedFields').map((entry) => {
        const { time: _time, ...rest } = entry;
        return rest;
      }),
    });
  return sameJson(timeless(a), timeless(b));
}
