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
  if (fresh === other) return other as T;
  if (!isObject(fresh) || Object.isFrozen(fresh)) return fresh;
  const second = comparable(fresh, other);
  const first = comparable(fresh, like) ?? second;
  if (!first) return fresh;
  const share = Array.isArray(fresh) ? shareItems : shareMembers;
  return share(fresh as Members & unknown[], first, second ?? first) as T;
}

type Members = Record<string, unknown>;
type Items = readonly unknown[];

function shareItems(fresh: unknown[], like: Items, other: Items): Items {
  let isLike = like.length === fresh.length;
  let isOther = other.length === fresh.length;
  for (let i = 0; i < fresh.length; i++) {
    const shared = sharedWith(fresh[i], like[i], other[i]);
    fresh[i] = shared;
    if (shared !== like[i]) isLike = false;
    if (shared !== other[i]) isOther = false;
  }
  if (isLike) return like;
  return isOther ? other : fresh;
}

function shareMembers(fresh: Members, like: Members, other: Members): Members {
  let count = 0;
  let isLike = true;
  let isOther = true;
  for (const key in fresh) {
    count++;
    const shared = sharedWith(fresh[key], like[key], other[key]);
    // equal texts too: of two, one is enough
    fresh[key] = shared;
    if (shared !== like[key]) isLike = false;
    if (shared !== other[key]) isOther = false;
  }
  if (isLike && sizeOf(like) === count) return like;
  return isOther && sizeOf(other) === count ? other : fresh;
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
