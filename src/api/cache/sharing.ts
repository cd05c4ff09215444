import { memberCount } from '../../base/members-of.ts';

/**
 * Lets a freshly parsed JSON value share with what is kept already whatever they say alike: equal objects, lists and texts become the very
 * same ones. Objects of one kind say mostly the same, above all two versions of one object, so a cache of them gets much smaller, and
 * whoever compares a part with its earlier version is done at once.
 *
 * `fresh` is written to, so it must be the caller's alone; what is frozen is left as it is. `like` and `other` are only read.
 *
 * @param like what each part is compared with
 * @param other what a part is compared with that `like` does not have
 * @returns what `fresh` was compared with where that says exactly the same, else `fresh`
 */
export function sharedWith<T>(fresh: T, like: unknown, other?: unknown): T {
  const kept = like ?? other;
  if (fresh === kept) return kept as T;
  if (!isObject(fresh) || !isObject(kept) || Object.isFrozen(fresh)) return fresh;
  return share(fresh, kept, isObject(other) ? other : none) ? (kept as T) : fresh;
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
    const shared = sharedWith(fresh[i], was, other[i]);
    fresh[i] = shared;
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
    // equal texts too: of two, one is enough
    const shared = sharedWith(fresh[key], was, isLeaf(was) ? undefined : other[key]);
    fresh[key] = shared;
    if (shared !== was) equal = false;
  }
  return equal && memberCount(like) === count;
}

/** Where a text or a number stands there is nothing to look for elsewhere. */
const isLeaf = (value: unknown): boolean => value !== undefined && typeof value !== 'object';

/** A key `__proto__` that one of the two lacks would find the prototype there. */
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && value !== Object.prototype;
