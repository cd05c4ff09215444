/** Reports whether two JSON values are equal; a null or undefined member counts as absent. Shared parts are not compared. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return isAbsent(a) && isAbsent(b);
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameItems(a, b);
  return sameMembers(a, b);
}

type Members = Readonly<Record<string, unknown>>;

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !deepEqual(a[i], b[i])) return false;
  return true;
}

function sameMembers(a: Members, b: Members): boolean {
  // One pass over each: counts the members of b that a lacks.
  let left = 0;
  for (const key in a) {
    const value = a[key];
    if (isAbsent(value)) continue;
    left++;
    if (value !== b[key] && !deepEqual(value, b[key])) return false;
  }
  for (const key in b) if (!isAbsent(b[key])) left--;
  return left === 0;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
