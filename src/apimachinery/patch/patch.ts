import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import { type Draft, isObject, type JsonObject, sameJson } from '../json.ts';
import { rejected, StatusError } from '../status-error.ts';

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: Draft = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else setOwn(out, key, mergePatch(ownMember(out, key), value));
  }
  return out;
}

const pointer = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));

/** What holds the last step of a path. @throws {StatusError} 422 when there is none */
function holderOf(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path.slice(0, -1)) {
    if (Array.isArray(at)) at = at[indexIn(key, at.length - 1)] as unknown;
    else if (isObject(at)) at = ownMember(at, key);
    if (typeof at !== 'object' || at === null) throw rejected();
  }
  if (path.length === 0) throw rejected();
  return at;
}

/** What stands at a path, `null` for a member that is missing. @throws {StatusError} 422 when nothing could stand there */
function find(value: unknown, path: readonly string[]): unknown {
  const holder = holderOf(value, path);
  const key = path.at(-1) ?? '';
  if (Array.isArray(holder)) return holder[indexIn(key, holder.length - 1)] as unknown;
  return ownMember(holder as JsonObject, key) ?? null;
}

/** Copies along the path and changes the last step. @throws {StatusError} 422 for a path that leads nowhere */
function edit(
  value: unknown,
  path: readonly string[],
  change: (holder: unknown, key: string) => unknown,
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) throw rejected();
  if (rest.length === 0) return change(value, key);
  if (Array.isArray(value)) {
    const at = indexIn(key, value.length - 1);
    return value.map((item: unknown, i) => (i === at ? edit(item, rest, change) : item));
  }
  if (!isObject(value) || !Object.hasOwn(value, key)) throw rejected();
  return { ...value, [key]: edit(ownMember(value, key), rest, change) };
}

/** The place that a key means in a list; one below zero counts from behind the greatest that may be. @throws {StatusError} 422 */
const indexIn = (key: string, most: number): number => {
  if (!/^[+-]?\d+$/.test(key)) throw rejected();
  const at = Number(key);
  const index = at < 0 ? at + most + 1 : at;
  if (index < 0 || index > most) throw rejected();
  return index;
};

const added =
  (value: unknown) =>
  (holder: unknown, key: string): unknown => {
    if (Array.isArray(holder)) {
      const at = key === '-' ? holder.length : indexIn(key, holder.length);
      return [...(holder.slice(0, at) as unknown[]), value, ...(holder.slice(at) as unknown[])];
    }
    if (!isObject(holder)) throw rejected();
    return { ...holder, [key]: value };
  };

const removed = (holder: unknown, key: string): unknown => {
  if (Array.isArray(holder)) {
    const at = indexIn(key, holder.length - 1);
    return holder.filter((_, i) => i !== at) as unknown[];
  }
  if (!isObject(holder) || !Object.hasOwn(holder, key)) throw rejected();
  const { [key]: _gone, ...rest } = holder;
  return rest;
};

const replaced =
  (value: unknown) =>
  (holder: unknown, key: string): unknown => {
    if (Array.isArray(holder)) {
      const at = indexIn(key, holder.length - 1);
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

/** Takes what is missing for null, as the Go library does. */
function carry(target: unknown, { to, from }: Operation, move: boolean): unknown {
  if (!from) throw rejected();
  const found = find(target, from);
  return edit(move ? edit(target, from, removed) : target, to, added(found));
}

function replace(target: unknown, { to, value }: Operation): unknown {
  if (to.length > 0) return edit(target, to, replaced(value ?? null));
  if (typeof value !== 'object' || value === null) throw rejected();
  return value;
}

const operations: Readonly<Record<string, (target: unknown, operation: Operation) => unknown>> = tableOf({
  add: (target, { to, value }) => edit(target, to, added(value ?? null)),
  replace,
  remove: (target, { to }) => edit(target, to, removed),
  test(target, { to, value }) {
    const found = to.length === 0 ? target : find(target, to);
    if (!sameJson(found, value ?? null)) throw rejected();
    return target;
  },
  copy: (target, operation) => carry(target, operation, false),
  move: (target, operation) => carry(target, operation, true),
});

function step(target: unknown, { op, path, from, value }: JsonObject): unknown {
  const act = typeof op === 'string' ? operations[op] : undefined;
  if (!act || typeof path !== 'string' || (path !== '' && !path.includes('/'))) throw rejected();
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
