import { ownMember, setOwn, tableOf } from '../../base/own.ts';
import { type Draft, isObject, type JsonObject, sameJson } from '../json.ts';
import { rejected, StatusError } from '../status-error.ts';

/** Applies a JSON merge patch (RFC 7386). Nulls in lists are dropped too, unless the list replaces an object. Follows evanphx/json-patch. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return isObject(target) ? patch : withoutNulls(patch);
  const out: Draft = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else setOwn(out, key, mergePatch(ownMember(out, key), value));
  }
  return out;
}

/** Returns a value without the members of objects that are null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isObject(value) ? mergePatch({}, value) : value;
}

const pointer = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));

/** Returns the parent of the last step of a path. @throws {StatusError} 422 when there is none */
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

/** Returns the value at a path, `null` for a missing member. @throws {StatusError} 422 when the path cannot exist */
function find(value: unknown, path: readonly string[]): unknown {
  const holder = holderOf(value, path);
  const key = path.at(-1) ?? '';
  if (Array.isArray(holder)) return holder[indexIn(key, holder.length - 1)] as unknown;
  return ownMember(holder as JsonObject, key) ?? null;
}

/** All copies of a patch together may be this large, bytes of JSON (kube-apiserver's limit of accumulated copies). */
const mostCopied = 3 * 1024 * 1024;
/** List elements that the steps of one patch may move. */
const mostMoved = 50_000_000;

/**
 * A document that is being patched. What the patch changes is copied once, when it is first changed: the document that came stays as it is,
 * and a patch of many steps costs no more than the document and its steps.
 */
class Patching {
  root: unknown;
  /** Objects and lists that were made here, and may be changed in place. */
  readonly #fresh = new Set<object>();
  #copied = 0;
  #moved = 0;

  constructor(root: unknown) {
    this.root = root;
  }

  /** @throws {StatusError} 413 for a patch that moves too much */
  charge(moved: number): void {
    this.#moved += moved;
    if (this.#moved > mostMoved)
      throw new StatusError(
        413,
        'RequestEntityTooLarge',
        'Request entity too large: the patch moves too much',
      );
  }

  /** What holds the last step of a path, free to be changed. @throws {StatusError} 422 for a path that leads nowhere */
  holder(path: readonly string[]): unknown {
    if (path.length === 0) throw rejected();
    let at = (this.root = this.#own(this.root));
    for (const key of path.slice(0, -1)) {
      if (Array.isArray(at)) {
        const index = indexIn(key, at.length - 1);
        at = at[index] = this.#own(at[index]);
      } else {
        if (!isObject(at) || !Object.hasOwn(at, key)) throw rejected();
        const inner = this.#own(ownMember(at, key));
        setOwn(at as Draft, key, inner);
        at = inner;
      }
    }
    return at;
  }

  /** A copy of a value that shares nothing with it. @throws {StatusError} 422 when all copies are too large together */
  copy(value: unknown): unknown {
    const text = JSON.stringify(value);
    this.#copied += text.length;
    if (this.#copied > mostCopied) throw rejected();
    return JSON.parse(text) as unknown;
  }

  #own(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.#fresh.has(value)) return value;
    const copy: object = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
    this.#fresh.add(copy);
    return copy;
  }
}

/** Returns the list index of a key; a negative one counts from the greatest allowed index. @throws {StatusError} 422 */
const indexIn = (key: string, most: number): number => {
  if (!/^[+-]?\d+$/.test(key)) throw rejected();
  const at = Number(key);
  const index = at < 0 ? at + most + 1 : at;
  if (index < 0 || index > most) throw rejected();
  return index;
};

type Change = (holder: unknown, key: string, patching: Patching) => void;

const added =
  (value: unknown): Change =>
  (holder, key, patching) => {
    if (Array.isArray(holder)) {
      const at = key === '-' ? holder.length : indexIn(key, holder.length);
      patching.charge(holder.length - at);
      holder.splice(at, 0, value);
    } else if (isObject(holder)) setOwn(holder as Draft, key, value);
    else throw rejected();
  };

const removed: Change = (holder, key, patching) => {
  if (Array.isArray(holder)) {
    const at = indexIn(key, holder.length - 1);
    patching.charge(holder.length - at);
    holder.splice(at, 1);
    return;
  }
  if (!isObject(holder) || !Object.hasOwn(holder, key)) throw rejected();
  delete (holder as Draft)[key];
};

const replaced =
  (value: unknown): Change =>
  (holder, key) => {
    if (Array.isArray(holder)) (holder as unknown[])[indexIn(key, holder.length - 1)] = value;
    else if (isObject(holder)) setOwn(holder as Draft, key, value);
    else throw rejected();
  };

const edit = (patching: Patching, path: readonly string[], change: Change): void => {
  change(patching.holder(path), path.at(-1) ?? '', patching);
};

/** One operation with parsed pointers. */
interface Operation {
  readonly to: readonly string[];
  readonly from: readonly string[] | undefined;
  readonly value: unknown;
}

/** Copies or moves a value; a missing one counts as null, as in the Go library. */
function carry(patching: Patching, { to, from }: Operation, move: boolean): void {
  if (!from) throw rejected();
  const found = find(patching.root, from);
  if (move) edit(patching, from, removed);
  edit(patching, to, added(move ? found : patching.copy(found)));
}

function replace(patching: Patching, { to, value }: Operation): void {
  if (to.length > 0) {
    edit(patching, to, replaced(value ?? null));
    return;
  }
  if (typeof value !== 'object' || value === null) throw rejected();
  patching.root = value;
}

function checkSame(patching: Patching, { to, value }: Operation): void {
  const found = to.length === 0 ? patching.root : find(patching.root, to);
  // one that differs ends the patch: what is compared is no larger than what was sent
  if (!sameJson(found, value ?? null)) throw rejected();
}

const operations: Readonly<Record<string, (patching: Patching, operation: Operation) => void>> = tableOf({
  add: (patching: Patching, { to, value }: Operation) => {
    edit(patching, to, added(value ?? null));
  },
  replace,
  remove: (patching: Patching, { to }: Operation) => {
    edit(patching, to, removed);
  },
  test: checkSame,
  copy: (patching: Patching, operation: Operation) => {
    carry(patching, operation, false);
  },
  move: (patching: Patching, operation: Operation) => {
    carry(patching, operation, true);
  },
});

function step(patching: Patching, { op, path, from, value }: JsonObject): void {
  const act = typeof op === 'string' ? operations[op] : undefined;
  if (!act || typeof path !== 'string' || (path !== '' && !path.includes('/'))) throw rejected();
  act(patching, {
    to: pointer(path),
    from: typeof from === 'string' ? pointer(from) : undefined,
    value,
  });
}

/** Applies a JSON patch (RFC 6902), all or nothing. @throws {StatusError} 422 for an operation that cannot be applied, 413 for too many */
export function jsonPatch(target: JsonObject, steps: readonly unknown[]): unknown {
  if (steps.length > 10_000)
    throw new StatusError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is 10000, got ${steps.length}`,
    );
  const patching = new Patching(target);
  for (const operation of steps) {
    if (!isObject(operation)) throw rejected();
    step(patching, operation);
  }
  return patching.root;
}
