import { type FieldType, fieldsOf, type ListMerge, type Shape } from './api-types.ts';
import { type Draft, isObject, type JsonObject, sameJson, textOf } from './json.ts';
import { badRequest, StatusError } from './status-error.ts';

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: Draft = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else out[key] = mergePatch(out[key], value);
  }
  return out;
}

const rejected = (): StatusError =>
  new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  });

const pointer = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));

function find(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (Array.isArray(at)) at = (at as unknown[])[Number(key)];
    else if (isObject(at)) at = at[key];
    else return undefined;
  }
  return at;
}

/** Copies along the path and changes the last step. */
function edit(
  value: unknown,
  path: readonly string[],
  change: (holder: unknown, key: string) => unknown,
): unknown {
  const [key = '', ...rest] = path;
  if (rest.length === 0) return change(value, key);
  if (Array.isArray(value)) {
    const at = Number(key);
    if (!(at in value)) throw rejected();
    return value.map((item: unknown, i) => (i === at ? edit(item, rest, change) : item));
  }
  if (!isObject(value) || !(key in value)) throw rejected();
  return { ...value, [key]: edit(value[key], rest, change) };
}

const indexIn = (holder: readonly unknown[], key: string, most: number): number => {
  const at = Number(key);
  if (!/^-?\d+$/.test(key)) throw rejected();
  const index = at < 0 ? at + holder.length : at;
  if (index < 0 || index > most) throw rejected();
  return index;
};

const added =
  (value: unknown) =>
  (holder: unknown, key: string): unknown => {
    if (Array.isArray(holder)) {
      const at = key === '-' ? holder.length : indexIn(holder, key, holder.length);
      return [...(holder.slice(0, at) as unknown[]), value, ...(holder.slice(at) as unknown[])];
    }
    if (!isObject(holder)) throw rejected();
    return { ...holder, [key]: value };
  };

const removed = (holder: unknown, key: string): unknown => {
  if (Array.isArray(holder)) {
    const at = indexIn(holder, key, holder.length - 1);
    return holder.filter((_, i) => i !== at) as unknown[];
  }
  if (!isObject(holder) || !(key in holder)) throw rejected();
  const { [key]: _gone, ...rest } = holder;
  return rest;
};

const replaced =
  (value: unknown) =>
  (holder: unknown, key: string): unknown => {
    if (Array.isArray(holder)) {
      const at = indexIn(holder, key, holder.length - 1);
      return holder.map((item: unknown, i) => (i === at ? value : item));
    }
    if (!isObject(holder)) throw rejected();
    return { ...holder, [key]: value };
  };

/** One operation, its pointers read. */
interface Operation {
  readonly to: readonly string[];
  readonly from: readonly string[] | undefined;
  readonly value: unknown;
}

const put =
  (how: typeof added) =>
  (target: unknown, { to, value }: Operation): unknown =>
    to.length === 0 ? value : edit(target, to, how(value ?? null));

function carry(target: unknown, { to, from }: Operation, move: boolean): unknown {
  const found = from && find(target, from);
  if (!from || found === undefined) throw rejected();
  return edit(move ? edit(target, from, removed) : target, to, added(found));
}

const operations: Readonly<Record<string, (target: unknown, operation: Operation) => unknown>> = {
  add: put(added),
  replace: put(replaced),
  remove: (target, { to }) => edit(target, to, removed),
  test(target, { to, value }) {
    if (!sameJson(find(target, to) ?? null, value ?? null)) throw rejected();
    return target;
  },
  copy: (target, operation) => carry(target, operation, false),
  move: (target, operation) => carry(target, operation, true),
};

function step(target: unknown, { op, path, from, value }: JsonObject): unknown {
  const act = typeof op === 'string' ? operations[op] : undefined;
  if (!act || typeof path !== 'string') throw rejected();
  return act(target, {
    to: pointer(path),
    from: typeof from === 'string' ? pointer(from) : undefined,
    value,
  });
}

/** RFC 6902, all or nothing. @throws {StatusError} 422 for an operation that cannot be done, 413 for too many */
export function jsonPatch(target: JsonObject, steps: readonly unknown[]): unknown {
  if (steps.length > 10_000)
    throw new StatusError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is 10000, got ${steps.length}`,
    );
  let at: unknown = target;
  for (const operation of steps) {
    if (!isObject(operation)) throw rejected();
    at = step(at, operation);
  }
  return at;
}

const directive = /^\$(patch|retainKeys|deleteFromPrimitiveList\/.*|setElementOrder\/.*)$/;

/**
 * Strategic merge patch: maps are joined, lists by their merge keys where their type has them (else replaced), with the `$patch`,
 * `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder` directives.
 *
 * @throws {StatusError} 400 for a patch that cannot be read so
 */
export function strategicPatch(target: JsonObject, patch: JsonObject, type: string): JsonObject {
  return mergeObject(target, patch, { is: 'struct', type, atomic: false });
}

function mergeObject(target: JsonObject, patch: JsonObject, shape: Shape | undefined): JsonObject {
  const how = patch['$patch'];
  if (how === 'replace') return dropDirectives(patch);
  if (how === 'delete') return {};
  if (how !== undefined && how !== 'merge')
    throw new StatusError(500, '', `unknown patch type: ${textOf(how)} in map: ${goMap(patch)}`);
  const fields = shape?.is === 'struct' ? fieldsOf(shape.type) : undefined;
  const out: Draft = { ...retained(target, patch) };
  for (const [key, value] of Object.entries(patch)) {
    if (directive.test(key)) continue;
    if (value === null) delete out[key];
    else if (isNew(out[key], value)) out[key] = dropDirectives(value);
    else out[key] = mergeMember(out[key], value, memberShape(shape, fields, key), orderOf(patch, key));
  }
  deletePrimitives(out, patch);
  return out;
}

/** What is not there yet is taken as it comes, even with a directive that nobody knows. */
function isNew(standing: unknown, value: unknown): value is JsonObject {
  const how = isObject(value) && standing === undefined ? value['$patch'] : undefined;
  return how !== undefined && !['replace', 'delete', 'merge'].includes(textOf(how));
}

const deleteFrom = '$deleteFromPrimitiveList/';

function deletePrimitives(out: Draft, patch: JsonObject): void {
  for (const [key, gone] of Object.entries(patch)) {
    if (!key.startsWith(deleteFrom) || !Array.isArray(gone)) continue;
    const name = key.slice(deleteFrom.length);
    const list = out[name];
    if (Array.isArray(list)) out[name] = list.filter((item) => !gone.includes(item)) as unknown[];
  }
}

function retained(target: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch['$retainKeys'];
  if (!Array.isArray(keys)) return target;
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

const memberShape = (
  shape: Shape | undefined,
  fields: ReadonlyMap<string, FieldType> | undefined,
  key: string,
): Shape | undefined => fields?.get(key)?.shape ?? (shape?.is === 'map' ? shape.of : undefined);

const orderOf = (patch: JsonObject, key: string): readonly unknown[] | undefined => {
  const order = patch[`$setElementOrder/${key}`];
  return Array.isArray(order) ? order : undefined;
};

function dropDirectives(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([key, inner]) => !directive.test(key) && inner !== null),
  );
}

function mergeMember(
  target: unknown,
  patch: unknown,
  shape: Shape | undefined,
  order: readonly unknown[] | undefined,
): unknown {
  if (Array.isArray(patch))
    return shape?.is === 'list' && shape.merge.patchKey !== undefined
      ? mergeList(Array.isArray(target) ? (target as unknown[]) : [], patch as unknown[], shape, order)
      : plainList(patch);
  return isObject(patch) ? mergeObject(isObject(target) ? target : {}, patch, shape) : patch;
}

function mergeList(
  standing: readonly unknown[],
  patch: readonly unknown[],
  { merge, of }: Shape & { is: 'list' },
  order: readonly unknown[] = patch,
): unknown[] {
  const key = merge.patchKey ?? '';
  const merged = key === '' ? mergeSet(standing, patch) : mergeKeyed(standing, patch, merge, of);
  return ordered(merged, { order, standing, key });
}

const plainList = (patch: readonly unknown[]): unknown[] =>
  patch.filter((item) => !(isObject(item) && '$patch' in item && Object.keys(item).length === 1));

const mergeSet = (standing: readonly unknown[], patch: readonly unknown[]): unknown[] => [
  ...standing,
  ...patch.filter((item) => !standing.includes(item)),
];

function mergeKeyed(
  standing: readonly unknown[],
  patch: readonly unknown[],
  merge: ListMerge,
  of: Shape | undefined,
): unknown[] {
  const key = merge.patchKey ?? '';
  const items = patch.map((item) => {
    if (!isObject(item)) throw badRequest(`expected an object with the merge key ${key}`);
    return item;
  });
  if (items.some((item) => item['$patch'] === 'replace'))
    return items.filter((item) => item['$patch'] === undefined).map(dropDirectives);
  let out = [...standing];
  for (const item of items) {
    if (!(key in item)) {
      if (item['$patch'] === 'delete' || item['$patch'] === 'merge') continue;
      throw new StatusError(500, '', `map: ${goMap(item)} does not contain declared merge key: ${key}`);
    }
    const same = (other: unknown): boolean => isObject(other) && other[key] === item[key];
    if (item['$patch'] === 'delete') out = out.filter((other) => !same(other));
    else out = joined(out, item, same, of);
  }
  return out;
}

/** The list with the first of the items that are the same merged, or with the item at its end. */
function joined(
  list: readonly unknown[],
  item: JsonObject,
  same: (other: unknown) => boolean,
  of: Shape | undefined,
): unknown[] {
  const at = list.findIndex(same);
  const standing = list[at];
  return isObject(standing)
    ? list.with(at, mergeObject(standing, item, of))
    : [...list, mergeObject({}, item, of)];
}

/** How Go prints a map: `map[a:1 b:2]`. */
const goMap = (item: JsonObject): string =>
  `map[${Object.keys(item)
    .sort()
    .map((key) => `${key}:${isObject(item[key]) ? goMap(item[key]) : textOf(item[key])}`)
    .join(' ')}]`;

/**
 * The order of a merged list: what the patch names comes in the patch's order, what only stood keeps its own; of the two, what stood comes
 * first only where both stood and it was in front.
 */
function ordered(
  items: readonly unknown[],
  at: { readonly order: readonly unknown[]; readonly standing: readonly unknown[]; readonly key: string },
): unknown[] {
  const id = (item: unknown): unknown => (at.key === '' ? item : isObject(item) ? item[at.key] : undefined);
  const rank = new Map(at.order.map((item, i) => [id(item), i]));
  const stood = new Map(at.standing.map((item, i) => [id(item), i]));
  const rankOf = (item: unknown): number => rank.get(id(item)) ?? 0;
  const named = items.filter((item) => rank.has(id(item))).sort((a, b) => rankOf(a) - rankOf(b));
  const others = items.filter((item) => !rank.has(id(item)));
  const out: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [mine, theirs] = [stood.get(id(named[0])), stood.get(id(others[0]))];
    out.push(mine !== undefined && theirs !== undefined && theirs < mine ? others.shift() : named.shift());
  }
  return [...out, ...named, ...others];
}
