import { memberCount } from '../../base/members-of.ts';

/**
 * Makes a freshly parsed JSON value share its equal parts with existing values: equal objects, lists and texts become identical. Objects
 * of one kind are mostly equal, above all two versions of one object, so a cache of them becomes much smaller, and comparing a part with
 * its earlier version is immediate.
 *
 * Writes to `fresh`, which must belong to the caller alone; frozen parts are left as they are. `like` and `other` are only read.
 *
 * @param like compared with each part
 * @param other compared with parts that `like` does not have
 * @returns the value that `fresh` was compared with if it is equal, else `fresh`
 */
export function sharedWith<T>(fresh: T, like: unknown, other?: unknown): T {
  const existing = like ?? other;
  if (fresh === existing) return existing as T;
  if (!isObject(fresh) || !isObject(existing) || Object.isFrozen(fresh)) return fresh;
  return share(fresh, existing, isObject(other) ? other : none) ? (existing as T) : fresh;
}

type Members = Record<string, unknown>;
type Items = readonly unknown[];

const none: Members = {};

/** @returns whether `fresh` and `like` are equal */
function share(fresh: Members, like: Members, other: Members): boolean {
  if (Array.isArray(fresh))
    return Array.isArray(like) && shareItems(fresh, like, Array.isArray(other) ? other : []);
  return !Array.isArray(like) && shareMembers(fresh, like, other);
}

/** @returns whether `fresh` and `like` are equal */
function shareItems(fresh: unknown[], like: Items, other: Items): boolean {
  let equal = fresh.length === like.length;
  for (let i = 0; i < fresh.length; i++) {
    const was = like[i];
    const own = fresh[i];
    const shared = sharedWith(own, was, other[i]);
    if (isReplaced(own, shared)) fresh[i] = shared;
    if (shared !== was) equal = false;
  }
  return equal;
}

/** @returns whether `fresh` and `like` are equal */
function shareMembers(fresh: Members, like: Members, other: Members): boolean {
  let count = 0;
  let equal = true;
  for (const key in fresh) {
    count++;
    const was = like[key];
    const own = fresh[key];
    const shared = sharedWith(own, was, isLeaf(was) ? undefined : other[key]);
    if (isReplaced(own, shared)) fresh[key] = shared;
    if (shared !== was) equal = false;
  }
  return equal && memberCount(like) === count;
}

/** True for another value, and for a text: equal ones may be two copies, of which one is enough. */
const isReplaced = (own: unknown, shared: unknown): boolean => typeof own === 'string' || shared !== own;

/** True for texts and numbers, which have no parts to share. */
const isLeaf = (value: unknown): boolean => value !== undefined && typeof value !== 'object';

/** A key `__proto__` that one of the two lacks would resolve to the prototype there. */
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && value !== Object.prototype;
