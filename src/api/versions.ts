/** Reports whether a resource version is a number, as etcd counts them; others may only be compared for equality. */
const isNumber = (version: string): boolean => /^[1-9]\d*$/.test(version);

/**
 * Compares two resource versions of one kind: below 0 when the first is older, above 0 when it is newer, `undefined` when the server's
 * versions have no order.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!isNumber(a) || !isNumber(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}
