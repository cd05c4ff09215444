import type { PodStatus } from '../kube/types.ts';
import { changeJson, isJson, type Json, type Shape, statusShape, wire } from './wire-status.ts';

/** A change of status as it is sent. */
export interface StatusPatch {
  /** The exact request body, a strategic merge patch that holds the UID as a precondition. */
  readonly body: string;
  /** Nothing differs, so nothing needs to be sent. */
  readonly unchanged: boolean;
}

/**
 * The strategic merge patch that turns one status into another, to the byte as the Go kubelet writes it.
 *
 * Follows `statusutil.PatchPodStatus` and `strategicpatch.CreateTwoWayMergePatch`.
 */
export function statusPatch(uid: string, old: PodStatus, next: PodStatus): StatusPatch {
  const status = diffStatus(old, next);
  const unchanged = Object.keys(status).length === 0;
  const body = changeJson({ metadata: { uid }, ...(!unchanged && { status }) });
  return { body, unchanged };
}

function diffStatus(old: Json, next: Json): Json {
  const changes: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries<Shape>(statusShape.members)) {
    // what is written alike is not written at all
    if (sameWire(old[name], next[name])) continue;
    diffMember(changes, name, { old: wire(old[name], shape), next: wire(next[name], shape), shape });
  }
  return changes;
}

interface Member {
  readonly old: unknown;
  readonly next: unknown;
  readonly shape: Shape;
}

/** Adds to `changes` what must be said of one member: `null` removes it, a new one is written whole. */
function diffMember(changes: Record<string, unknown>, name: string, member: Member): void {
  const { old, next } = member;
  if (next === undefined) {
    if (old !== undefined) changes[name] = null;
  } else if (Array.isArray(next) && Array.isArray(old))
    diffList(changes, name, { old, next, shape: member.shape });
  else if (isJson(old) && isJson(next)) {
    const inner = diffObject(old, next);
    if (Object.keys(inner).length > 0) changes[name] = inner;
  } else if (old !== next) changes[name] = next;
}

interface ListMember {
  readonly old: readonly unknown[];
  readonly next: readonly unknown[];
  readonly shape: Shape;
}

/** A list without a merge key is replaced whole. */
function diffList(changes: Record<string, unknown>, name: string, { old, next, shape }: ListMember): void {
  const { mergeKey: key } = shape;
  // only objects have a key to be merged by
  if (key !== undefined)
    diffByKey(changes, name, { old: old as readonly Json[], next: next as readonly Json[], key });
  else if (!sameWire(old, next)) changes[name] = next;
}

function diffObject(old: Json, next: Json): Json {
  const changes: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(next)]))
    diffMember(changes, name, { old: old[name], next: next[name], shape: {} });
  return changes;
}

interface KeyedLists {
  readonly old: readonly Json[];
  readonly next: readonly Json[];
  readonly key: string;
}

/** Elements that changed or are new, those that are gone, and the order of all of them where it cannot be told otherwise. */
function diffByKey(changes: Record<string, unknown>, name: string, { old, next, key }: KeyedLists): void {
  const before = byKey(old, key);
  const after = byKey(next, key);
  const changed = next.flatMap((element) => diffElement(before.get(element[key]), element, key));
  const gone = [...before.keys()].filter((id) => !after.has(id)).sort();
  const elements = [...changed, ...gone.map((id) => ({ $patch: 'delete', [key]: id }))];
  const sameOrder = [...before.keys()].every((id, i) => next[i]?.[key] === id);
  if (elements.length === 0 && sameOrder) return;
  if (elements.length > 0) changes[name] = elements;
  changes[`$setElementOrder/${name}`] = next.map((element) => ({ [key]: element[key] }));
}

const byKey = (list: readonly Json[], key: string): ReadonlyMap<unknown, Json> =>
  new Map(list.map((element) => [element[key], element]));

function diffElement(old: Json | undefined, next: Json, key: string): readonly Json[] {
  if (!old) return [next];
  const inner = diffObject(old, next);
  return Object.keys(inner).length === 0 ? [] : [{ ...inner, [key]: next[key] }];
}

/** Are two JSON values equal, member by member? */
function sameWire(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b);
  if (!isJson(a) || !isJson(b)) return false;
  let left = 0;
  for (const name in a) {
    if (!(name in b) || !sameWire(a[name], b[name])) return false;
    left++;
  }
  for (const _ in b) left--;
  return left === 0;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!sameWire(a[i], b[i])) return false;
  return true;
}
