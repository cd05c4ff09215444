/**
 * Lets a freshly parsed JSON value share with one that is kept already whatever the two say alike: equal objects, lists and texts become
 * the very same ones. Objects of one kind say mostly the same, above all two versions of one object, so a cache of them gets much
 * smaller, and whoever compares a part with its earlier version is done at once.
 *
 * `fresh` is written to, so it must be the caller's alone; what is frozen is left as it is. `like` is only read.
 *
 * @returns `like` where both say exactly the same, else `fresh`
 */
export function sharedWith<T>(fresh: T, like: unknown): T {
  if (fresh === like) return like as T;
  if (!isObject(fresh) || !isObject(like) || Object.isFrozen(fresh)) return fresh;
  if (Array.isArray(fresh)) return Array.isArray(like) && shareItems(fresh, like) ? (like as T) : fresh;
  return !Array.isArray(like) && shareMembers(fresh, like) ? (like as T) : fresh;
}

type Members = Record<string, unknown>;

/** @returns whether the two are equal */
function shareItems(fresh: unknown[], like: readonly unknown[]): boolean {
  let equal = fresh.length === like.length;
  const both = Math.min(fresh.length, like.length);
  for (let i = 0; i < both; i++) {
    const shared = sharedWith(fresh[i], like[i]);
    if (shared === like[i]) fresh[i] = shared;
    else equal = false;
  }
  return equal;
}

/** @returns whether the two are equal */
function shareMembers(fresh: Members, like: Members): boolean {
  let left = 0;
  let equal = true;
  for (const key in fresh) {
    left++;
    const was = like[key];
    // equal texts too: of two, one is enough
    if (sharedWith(fresh[key], was) === was) fresh[key] = was;
    else equal = false;
  }
  if (!equal) return false;
  for (const _ in like) left--;
  return left === 0;
}

/** A key `__proto__` that one of the two lacks would find the prototype there. */
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && value !== Object.prototype;
