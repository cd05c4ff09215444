/**
 * Lets a freshly parsed JSON value share with what is kept already whatever they say alike: equal objects, lists and texts become the very
 * same ones. Objects of one kind say mostly the same, above all two versions of one object, so a cache of them gets much smaller, and
 * whoever compares a part with its earlier version is done at once.
 *
 * `fresh` is written to, so it must be the caller's alone; what is frozen is left as it is. `like` and `other` are only read.
 *
 * @param like what each part is compared with first
 * @param other and what with then
 * @returns `like` or `other` where that says exactly the same, else `fresh`
 */
export function sharedWith<T>(fresh: T, like: unknown, other?: unknown): T {
  if (fresh === like) return like as T;
  if (!isObject(fresh)) return fresh === other ? (other as T) : fresh;
  if (Object.isFrozen(fresh)) return fresh;
  const second = comparable(fresh, other);
  const first = comparable(fresh, like) ?? second;
  if (!first) return fresh;
  const share = Array.isArray(fresh) ? shareItems : shareMembers;
  return share(fresh as Members & unknown[], first, second) as T;
}

type Members = Record<string, unknown>;
type Items = readonly unknown[];

function shareItems(fresh: unknown[], like: Items, other: Items | undefined): Items {
  let isLike = fresh.length === like.length;
  for (let i = 0; i < fresh.length; i++) {
    const was = like[i];
    const shared = sharedWith(fresh[i], was, other?.[i]);
    fresh[i] = shared;
    if (shared !== was) isLike = false;
  }
  if (isLike) return like;
  // the items share already, so that a look at each tells
  return other?.length === fresh.length && fresh.every((item, i) => item === other[i]) ? other : fresh;
}

function shareMembers(fresh: Members, like: Members, other: Members | undefined): Members {
  let isLike = true;
  for (const key in fresh) {
    const was = like[key];
    // equal texts too: of two, one is enough
    const shared = sharedWith(fresh[key], was, other?.[key]);
    fresh[key] = shared;
    if (shared !== was) isLike = false;
  }
  if (isLike && sizeOf(like) === sizeOf(fresh)) return like;
  return other && hasSameMembers(fresh, other) ? other : fresh;
}

function hasSameMembers(fresh: Members, other: Members): boolean {
  for (const key in fresh) if (fresh[key] !== other[key]) return false;
  return sizeOf(fresh) === sizeOf(other);
}

function sizeOf(members: Members): number {
  let count = 0;
  for (const _ in members) count++;
  return count;
}

/** What can share with `fresh`: a list with a list, an object with an object. */
const comparable = (fresh: object, like: unknown): (Members & Items) | undefined =>
  isObject(like) && Array.isArray(like) === Array.isArray(fresh) ? (like as Members & Items) : undefined;

/** A key `__proto__` that one of the two lacks would find the prototype there. */
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && value !== Object.prototype;
