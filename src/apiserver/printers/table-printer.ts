import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';

/** A column as a Table declares it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

const description = 'shown by kubectl get';
/** Columns that kube-apiserver does not describe. */
const undescribed = new Set(['Handler']);

export const column = (name: string, priority = 0, type = 'string', format = ''): Column => ({
  name,
  type,
  format: name === 'Name' ? 'name' : format,
  description: undescribed.has(name) ? '' : `${name}: ${description}`,
  priority,
});

const [minute, hour, day, year] = [60, 3600, 86_400, 365 * 86_400];

/** The unit of a duration up to so many seconds, and whether the rest is shown in the next smaller one. */
const spans: readonly (readonly [
  below: number,
  unit: string,
  size: number,
  rest?: readonly [string, number],
])[] = [
  [2 * minute, 's', 1],
  [10 * minute, 'm', minute, ['s', 1]],
  [3 * hour, 'm', minute],
  [8 * hour, 'h', hour, ['m', minute]],
  [2 * day, 'h', hour],
  [8 * day, 'd', day, ['h', hour]],
  [2 * year, 'd', day],
  [8 * year, 'y', year, ['d', day]],
  [Infinity, 'y', year],
];

/** Formats a duration like ages in kubectl: `5s`, `3m20s`, `4d`, `2y30d`. */
export function age(ms: number): string {
  const total = Math.floor(ms / 1000);
  if (total < 0) return total < -1 ? '<invalid>' : '0s';
  const [, unit = 's', size = 1, smaller] = spans.find(([below]) => total < below) ?? [];
  const head = `${Math.floor(total / size)}${unit}`;
  const rest = smaller ? Math.floor((total % size) / smaller[1]) : 0;
  return smaller && rest > 0 ? `${head}${rest}${smaller[0]}` : head;
}

export const ageOf = (text: unknown, now: number): string =>
  typeof text === 'string' ? age(now - Date.parse(text)) : '<unknown>';

/** The columns of a kind and the cells of its objects. */
export interface Printer {
  readonly columns: readonly Column[];
  readonly cells: (object: JsonObject, now: number) => readonly unknown[];
}

/** Printers by the storage of their kind. */
export type Printers = Readonly<Record<string, Printer>>;

/** Parses columns: `Name`, `Desired:integer`; a `+` at the end: only shown by `-o wide`. */
export const cols = (...names: readonly string[]): Column[] =>
  names.map((one) => {
    const [name = '', type] = one.replace(/\+$/, '').split(':');
    return column(name, one.endsWith('+') ? 1 : 0, type);
  });

export const printer = (columns: readonly Column[], cells: Printer['cells']): Printer => ({ columns, cells });

export const createdAgo = (object: JsonObject, now: number): string =>
  ageOf(valueAt(object, 'metadata', 'creationTimestamp'), now);

export const countAt = (object: JsonObject, ...path: readonly string[]): number =>
  Number(valueAt(object, ...path) ?? 0);

/** Follows apimachinery `labels.FormatLabels`. */
export const labelsText = (labels: JsonObject): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${textOf(value)}`)
    .sort()
    .join(',') || '<none>';

/** Formats a label selector like apimachinery's `Selector.String`. */
export function selectorText(selector: JsonObject): string {
  const one = (term: JsonObject): string => {
    const key = stringAt(term, 'key');
    const values = listAt(term, 'values').map(textOf).sort().join(',');
    switch (term['operator']) {
      case 'In':
        return `${key} in (${values})`;
      case 'NotIn':
        return `${key} notin (${values})`;
      default:
        return term['operator'] === 'Exists' ? key : `!${key}`;
    }
  };
  return [
    ...Object.entries(objectAt(selector, 'matchLabels')).map(
      ([key, value]) => [key, `${key}=${textOf(value)}`] as const,
    ),
    ...objectsAt(selector, 'matchExpressions').map((term) => [stringAt(term, 'key'), one(term)] as const),
  ]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, text]) => text)
    .join(',');
}

/** Formats the first items of a list, and the number of remaining ones. */
export function someOf(all: readonly string[], shown = 3): string {
  const text = all.slice(0, shown).join(',');
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}

/** Returns names and images of a template's containers. */
export function containerCells(template: JsonObject): readonly [names: string, images: string] {
  const containers = objectsAt(specOf(template), 'containers');
  const all = (key: string): string => containers.map((one) => stringAt(one, key)).join(',');
  return [all('name'), all('image')];
}
