/** Whether two JSON values say the same; a member that is null or undefined counts as absent. Shared parts cost nothing. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return isAbsent(a) && isAbsent(b);
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameItems(a, b);
  return sameMembers(a, b);
}

type Members = Readonly<Record<string, unknown>>;

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => deepEqual(item, b[i]));
}

function sameMembers(a: Members, b: Members): boolean {
  for (const key in a) if (!deepEqual(a[key], b[key])) return false;
  for (const key in b) if (isAbsent(a[key]) && !isAbsent(b[key])) return false;
  return true;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
