import { isObject } from '../../apimachinery/json.ts';

/** The members that are maps: empty means the same as absent. Elsewhere `{}` may be a choice, as in `emptyDir: {}`. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'matchLabels', 'nodeSelector', 'data']);

const isEmpty = (value: unknown, key: string): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (maps.has(key) && isObject(value) && Object.keys(value).length === 0);

/**
 * Reports whether two objects mean the same to the API: members that are absent, `null`, empty lists or empty maps are equal. Follows
 * `equality.Semantic.DeepEqual`.
 */
export function semanticEqual(one: unknown, other: unknown, key = ''): boolean {
  if (Object.is(one, other) || (isEmpty(one, key) && isEmpty(other, key))) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => semanticEqual(item, other[at]));
  if (!isObject(one) || !isObject(other)) return false;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((member) =>
    semanticEqual(one[member], other[member], member),
  );
}
