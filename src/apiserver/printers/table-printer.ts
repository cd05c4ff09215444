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
import { ageOf, type Column, column } from '../table-format.ts';

/** The columns of a kind and how its objects fill them. */
export interface Printer {
  readonly columns: readonly Column[];
  readonly cells: (object: JsonObject, now: number) => readonly unknown[];
}

/** Printers by the storage of their kind. */
export type Printers = Readonly<Record<string, Printer>>;

/** `Name`, `Desired:integer`; a `+` at the end: shown by `-o wide` alone. */
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

/** A label selector as apimachinery's `Selector.String` writes it. */
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

/** The first few of a list, and how many more there are. */
export function someOf(all: readonly string[], shown = 3): string {
  const text = all.slice(0, shown).join(',');
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}

/** Names and images of a template's containers. */
export function containerCells(template: JsonObject): readonly [names: string, images: string] {
  const containers = objectsAt(specOf(template), 'containers');
  const all = (key: string): string => containers.map((one) => stringAt(one, key)).join(',');
  return [all('name'), all('image')];
}
