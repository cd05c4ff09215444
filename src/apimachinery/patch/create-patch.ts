import { ownMember, setOwn } from '../../base/own.ts';
import { type FieldType, fieldsOf, type Shape } from '../api-types.ts';
import { type Draft, isObject, type JsonObject, sameJson } from '../json.ts';

/**
 * Returns the JSON merge patch (RFC 7386) that makes `modified` of `original`. A member that is `undefined` counts as absent.
 *
 * @example
 * createMergePatch({ a: 1, b: 2 }, { a: 1, c: 3 }); // { b: null, c: 3 }
 */
export function createMergePatch(original: JsonObject, modified: JsonObject): JsonObject {
  const patch: Draft = {};
  for (const key of keysOf(original, modified)) {
    const [before, after] = [ownMember(original, key), ownMember(modified, key)];
    if (sameJson(before, after)) continue;
    if (after === undefined) setOwn(patch, key, null);
    else if (isObject(before) && isObject(after)) setOwn(patch, key, createMergePatch(before, after));
    else setOwn(patch, key, after);
  }
  return patch;
}

/**
 * Returns the strategic merge patch that makes `modified` of `original`: lists with a merge key are patched item by item, with
 * `$setElementOrder` and `$patch: delete`. Follows apimachinery's `strategicpatch.CreateTwoWayMergePatch`.
 *
 * @param type a type in the table of API types
 */
export const createStrategicPatch = (original: JsonObject, modified: JsonObject, type: string): JsonObject =>
  strategicMembers(original, modified, { is: 'struct', type, atomic: false });

function strategicMembers(original: JsonObject, modified: JsonObject, shape: Shape | undefined): JsonObject {
  const patch: Draft = {};
  for (const key of keysOf(original, modified)) {
    const [before, after] = [ownMember(original, key), ownMember(modified, key)];
    if (sameJson(before, after)) continue;
    const field = fieldIn(shape, key);
    if (after === undefined) setOwn(patch, key, null);
    else if (isObject(before) && isObject(after))
      setOwn(patch, key, strategicMembers(before, after, field?.shape));
    else if (Array.isArray(before) && Array.isArray(after)) setList(patch, key, { before, after, field });
    else setOwn(patch, key, after);
  }
  retain(patch, modified, shape);
  return patch;
}

/** What is known of a list member. */
interface ListChange {
  readonly before: readonly unknown[];
  readonly after: readonly unknown[];
  readonly field: FieldType | undefined;
}

function setList(patch: Draft, key: string, { before, after, field }: ListChange): void {
  const list = field?.shape.is === 'list' ? field.shape : undefined;
  const patchKey = list?.merge.patchKey;
  if (!list || patchKey === undefined) {
    setOwn(patch, key, after);
    return;
  }
  if (patchKey === '') setPrimitives(patch, key, before, after);
  else {
    const items = { before: before.filter(isObject), after: after.filter(isObject) };
    setItems(patch, key, { ...items, patchKey, of: list.of, retainKeys: list.merge.retainKeys === true });
  }
}

/** Patches a set of texts. */
function setPrimitives(
  patch: Draft,
  key: string,
  before: readonly unknown[],
  after: readonly unknown[],
): void {
  const gone = before.filter((item) => !after.includes(item));
  const fresh = after.filter((item) => !before.includes(item));
  if (gone.length > 0) setOwn(patch, `$deleteFromPrimitiveList/${key}`, gone);
  if (after.length > 0) setOwn(patch, `$setElementOrder/${key}`, after);
  if (fresh.length > 0) setOwn(patch, key, fresh);
}

/** A list whose items have a merge key. */
interface KeyedChange {
  readonly before: readonly JsonObject[];
  readonly after: readonly JsonObject[];
  readonly patchKey: string;
  readonly of: Shape;
  readonly retainKeys: boolean;
}

function setItems(patch: Draft, key: string, { before, after, patchKey, of, retainKeys }: KeyedChange): void {
  const idOf = (item: JsonObject): unknown => ownMember(item, patchKey);
  const standing = new Map(before.map((item) => [idOf(item), item]));
  const changes: JsonObject[] = [];
  for (const item of after) {
    const old = standing.get(idOf(item));
    if (old && sameJson(old, item)) continue;
    const difference = old ? strategicMembers(old, item, of) : item;
    const retained = old && retainKeys ? { $retainKeys: Object.keys(item).sort() } : {};
    changes.push({ ...difference, ...retained, [patchKey]: idOf(item) });
  }
  const staying = new Set(after.map(idOf));
  for (const id of standing.keys()) if (!staying.has(id)) changes.push({ $patch: 'delete', [patchKey]: id });
  if (after.length > 0)
    setOwn(
      patch,
      `$setElementOrder/${key}`,
      after.map((item) => ({ [patchKey]: idOf(item) })),
    );
  if (changes.length > 0) setOwn(patch, key, changes);
}

/** Adds `$retainKeys` for unions: a Deployment's strategy keeps no member of its former type. */
function retain(patch: Draft, modified: JsonObject, shape: Shape | undefined): void {
  if (shape?.is !== 'struct' || !unions.has(shape.type) || Object.keys(patch).length === 0) return;
  setOwn(patch, '$retainKeys', Object.keys(modified).sort());
}

const unions = new Set(['DeploymentStrategy']);

const fieldIn = (shape: Shape | undefined, key: string): FieldType | undefined =>
  shape?.is === 'struct' ? (shape.fields ?? fieldsOf(shape.type)).get(key) : undefined;

/** Returns the keys of both in a stable order. */
const keysOf = (a: JsonObject, b: JsonObject): readonly string[] => [
  ...new Set([...Object.keys(a), ...Object.keys(b)]),
];
