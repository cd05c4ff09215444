/** Whether two JSON values say the same; a member that is null or undefined counts as absent. Shared parts cost nothing. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return (a ?? undefined) === (b ?? undefined);
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameItems(a, b);
  for (const key in a) if (!deepEqual(a[key], b[key])) return false;
  for (const key in b) if (a[key] === undefined && (b[key] ?? undefined) !== undefined) return false;
  return true;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => deepEqual(item, b[i]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
