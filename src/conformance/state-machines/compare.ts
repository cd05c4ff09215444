/**
 * How recordings are compared: nulls are dropped on both sides, and what is absent equals the zero value
 * (`false`, `0`, `""`, empty list, empty object) unless its key is one of those that the API leaves optional.
 */
export interface CompareOptions {
  /** Keys for which present-and-zero is a value. */
  readonly optionalKeys?: ReadonlySet<string>;
  /** Leaves a path out, e.g. for values that cannot exist outside Go. */
  readonly ignore?: (path: string) => boolean;
}

/** One place where the two sides differ. */
export interface Difference {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Keys that the API leaves optional, where unset is not zero (FORMAT, Comparison). */
export const apiOptionalKeys: ReadonlySet<string> = new Set([
  'started',
  'deletionGracePeriodSeconds',
  'terminationGracePeriodSeconds',
  'activeDeadlineSeconds',
  'runAsUser',
  'grace',
]);

const isZero = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' &&
    Object.values(value).every((inner) => inner === null || inner === undefined || isZeroObject(inner)));

const isZeroObject = (value: unknown): boolean => typeof value === 'object' && isZero(value);

/** Every place where `actual` differs from `expected`; empty when they are equal. */
export function differences(expected: unknown, actual: unknown, options: CompareOptions = {}): Difference[] {
  const found: Difference[] = [];
  walk(expected, actual, '', '', options, found);
  return found;
}

function walk(
  expected: unknown,
  actual: unknown,
  path: string,
  key: string,
  options: CompareOptions,
  found: Difference[],
): void {
  if (options.ignore?.(path)) return;
  const optional = options.optionalKeys?.has(key) ?? false;
  const [left, right] = [expected ?? undefined, actual ?? undefined];
  if (left === right) return;
  if (!optional && isZero(left) && isZero(right)) return;
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let i = 0; i < Math.max(left.length, right.length); i++)
      walk(left[i], right[i], `${path}[${i}]`, key, options, found);
    return;
  }
  if (isRecord(left) && (isRecord(right) || right === undefined)) {
    const other = right ?? {};
    if (right === undefined && optional) return void found.push({ path, expected: left, actual: right });
    for (const name of new Set([...Object.keys(left), ...Object.keys(other)]))
      walk(left[name], other[name], `${path}.${name}`, name, options, found);
    return;
  }
  if (left === undefined && isRecord(right) && !optional) {
    for (const name of Object.keys(right))
      walk(undefined, right[name], `${path}.${name}`, name, options, found);
    return;
  }
  found.push({ path, expected: left, actual: right });
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
