import { duplicate, type Faults, tooMany } from '../../../kube/validation/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';

/** Validates one item at its path. */
export type ItemRule<T> = (field: string, item: T) => Faults;

/** Validates a list: at most so many items, each by its rule. Items of a list that is too long are not looked at. */
export function* boundedList<T>(field: string, items: readonly T[], most: number, rule: ItemRule<T>): Faults {
  if (items.length > most) yield tooMany(field, items.length, most);
  else for (const [i, item] of items.entries()) yield* rule(`${field}[${i}]`, item);
}

/** How a list of distinct items is validated. */
export interface DistinctRules<T> {
  /** The greatest number of items. */
  readonly most: number;
  readonly rule: ItemRule<T>;
  /** Returns what distinguishes an item. */
  readonly keyOf: (item: T) => string;
}

/** Validates a list whose items have keys of their own. */
export function* distinctList<T>(
  field: string,
  items: readonly T[],
  { most, rule, keyOf }: DistinctRules<T>,
): Faults {
  yield* boundedList(field, items, most, rule);
  if (items.length > most) return;
  const keys = new Set<string>();
  for (const [i, item] of items.entries()) {
    const key = keyOf(item);
    if (keys.has(key)) yield duplicate(`${field}[${i}]`, key);
    keys.add(key);
  }
}

/** How a map is validated. */
export interface MapRules {
  /** The greatest number of entries. */
  readonly most: number;
  /** Keys are shown with at most so many characters. */
  readonly longestKey: number;
  readonly keyRule: ItemRule<string>;
  readonly rule: ItemRule<JsonObject>;
}

/** Validates a map: at most so many entries, each key and value by its rule. */
export function* boundedMap(
  field: string,
  map: JsonObject,
  { most, longestKey, keyRule, rule }: MapRules,
): Faults {
  const entries = Object.entries(map);
  if (entries.length > most) yield tooMany(field, entries.length, most);
  else
    for (const [key, value] of entries) {
      yield* keyRule(field, key);
      yield* rule(`${field}[${shortened(key, longestKey)}]`, value as JsonObject);
    }
}

/** Replaces the middle of a long text by dots. */
function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const rest = longest - 3;
  return `${text.slice(0, Math.floor((rest + 1) / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
}
