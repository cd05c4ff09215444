import { hasMembers, memberCount } from '../base/members-of.ts';
import { ownMember, setOwn } from '../base/own.ts';
import { goStructJson } from '../go/go-json.ts';
import type { PodStatus } from '../kube/types.ts';
import {
  isJson,
  type Json,
  namesOf,
  plain,
  type Shape,
  statusShape,
  wire,
  wireMember,
  wireObject,
} from './wire-status.ts';

/** A status change, ready to be sent. */
export interface StatusPatch {
  /** The exact request body, a strategic merge patch that holds the UID as a precondition. */
  readonly body: string;
  /** True when the statuses do not differ and nothing needs to be sent. */
  readonly unchanged: boolean;
}

/**
 * Creates the strategic merge patch that changes one status into another, byte for byte as the Go kubelet writes it.
 *
 * Follows `statusutil.PatchPodStatus` and `strategicpatch.CreateTwoWayMergePatch`.
 */
export function statusPatch(uid: string, old: PodStatus, next: PodStatus): StatusPatch {
  const status = statusChanges(old, next);
  return {
    body: goStructJson({ metadata: { uid }, ...(status && { status }) }),
    unchanged: status === undefined,
  };
}

type Changes = Record<string, unknown>;

const statusMembers = Object.entries<Shape>(statusShape.members)
  .map(([name, shape]) => ({ name, shape }))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** The changes of the status, with keys in order; the directives for the order of lists begin with `$`. */
function statusChanges(old: Json, next: Json): Json | undefined {
  const orders: Changes = {};
  const changes: Changes = {};
  statusMembers.forEach(({ name, shape }) => {
    const was = ownMember(old, name);
    const is = ownMember(next, name);
    // values with the same JSON form do not differ
    if (sameWire(was, is)) return;
    if (shape.mergeKey !== undefined && isFilled(was) && isFilled(is)) {
      const { order, elements } = listChange(was, is, shape, shape.mergeKey);
      if (order) setOwn(orders, `$setElementOrder/${name}`, order);
      if (elements.length > 0) setOwn(changes, name, elements);
      return;
    }
    const change = changeOf(was, is, shape);
    if (change !== undefined) setOwn(changes, name, change);
  });
  const all = { ...orders, ...changes };
  return hasMembers(all) ? all : undefined;
}

const isFilled = (value: unknown): value is readonly Json[] => Array.isArray(value) && value.length > 0;

/** The change of a value: `null` removes it; a new value or a list is written whole; `undefined` when its JSON form is the same. */
function changeOf(old: unknown, next: unknown, shape: Shape): unknown {
  const is = wire(next, shape);
  const was = wire(old, shape);
  if (sameWire(was, is)) return undefined;
  if (is === undefined) return null;
  return was !== undefined && isJson(old) && isJson(next) ? memberChanges(old, next, shape) : is;
}

/** The changes of the members of an object; an element of a list is identified by its `key`. */
function memberChanges(old: Json, next: Json, shape: Shape, key?: string): Json | undefined {
  const changes: Changes = {};
  let count = 0;
  namesOf(next, shape, old).forEach((name) => {
    const change = name === key ? wireMember(next, name, shape) : memberChange(old, next, name, shape);
    if (change === undefined) return;
    setOwn(changes, name, change);
    count++;
  });
  // the key alone is no change
  return count > (key === undefined ? 0 : 1) ? changes : undefined;
}

function memberChange(old: Json, next: Json, name: string, shape: Shape): unknown {
  const was = ownMember(old, name);
  const is = ownMember(next, name);
  if (was === is) return undefined;
  if (isJson(was) && isJson(is)) return changeOf(was, is, ownMember(shape.members, name) ?? plain);
  const written = wireMember(next, name, shape);
  return sameWire(written, wireMember(old, name, shape)) ? undefined : (written ?? null);
}

/**
 * The change of a list: changed and new elements, removed elements, and the order of all of them where the patch has to state it.
 *
 * @param key the merge key, which identifies the elements
 */
function listChange(
  old: readonly Json[],
  next: readonly Json[],
  shape: Shape,
  key: string,
): { readonly order?: readonly Json[]; readonly elements: readonly Json[] } {
  const before = new Map<unknown, Json>();
  old.forEach((element) => before.set(ownMember(element, key), element));
  const ids = [...before.keys()];
  const elements: Json[] = [];
  next.forEach((element) => {
    const was = before.get(ownMember(element, key));
    const change = was ? memberChanges(was, element, shape, key) : wireObject(element, shape);
    if (change) elements.push(change);
  });
  const there = new Set(next.map((element) => element[key]));
  const gone = ids.filter((id) => !there.has(id));
  gone.sort().forEach((id) => elements.push({ $patch: 'delete', [key]: id }));
  const sameOrder = ids.every((id, i) => ownMember(next[i], key) === id);
  if (elements.length === 0 && sameOrder) return { elements };
  return { order: next.map((element) => ({ [key]: ownMember(element, key) })), elements };
}

/** True when two JSON values are equal, member by member. */
function sameWire(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b);
  if (!isJson(a) || !isJson(b)) return false;
  let count = 0;
  for (const name in a) {
    if (!Object.hasOwn(b, name) || !sameWire(a[name], b[name])) return false;
    count++;
  }
  return memberCount(b) === count;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!sameWire(a[i], b[i])) return false;
  return true;
}
