import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, nameOf, stringAt, textOf, valueAt } from '../../apimachinery/json.ts';
import { ageOf, type Column, column, type Printer } from '../printers/table-printer.ts';

/** One step of a path: from the values so far to those below them. */
type Step = (values: readonly unknown[]) => readonly unknown[];

const all = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
};

const member =
  (key: string): Step =>
  (values) =>
    values.flatMap((value) => {
      const inner = isObject(value) ? ownMember(value, key) : undefined;
      return inner === undefined ? [] : [inner];
    });

const item =
  (index: number): Step =>
  (values) =>
    values.flatMap((value): readonly unknown[] => {
      const inner: unknown = Array.isArray(value) ? value.at(index) : undefined;
      return inner === undefined ? [] : [inner];
    });

const filter =
  (path: string, expected: string): Step =>
  (values) =>
    values
      .flatMap(all)
      .filter((value) => textOf(valueAt(value, ...path.split('.').filter(Boolean))) === expected);

const token =
  /\.?\*|\[\*\]|\[\?\(\s*@((?:\.[\w-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]+))\s*\)\]|\[(-?\d+)\]|\[['"]([^'"]+)['"]\]|\.((?:\\.|[^.[\]\\])+)/y;

/** Reads a JSONPath as printer columns have it: members, indexes, `[*]` and filters by equality; `undefined` for any other. */
function stepsOf(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (!match) return undefined;
    const [, filtered, a, b, c, index, quoted, name] = match;
    const key = quoted ?? name?.replace(/\\(.)/g, '$1');
    if (filtered !== undefined) steps.push(filter(filtered, a ?? b ?? c ?? ''));
    else if (index !== undefined) steps.push(item(Number(index)));
    else steps.push(key === undefined ? (values) => values.flatMap(all) : member(key));
  }
  return steps;
}

/** Returns the cell of a value that a path leads to, by the type of its column; `null` for what is not of that type. */
function cellOf(value: unknown, type: string, now: number): unknown {
  switch (type) {
    case 'string':
      return value === undefined || value === null ? null : textOf(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : ageOf(value, now);
  }
}

const ageColumn: JsonObject = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Returns how a kind's objects are shown in tables: their names, and the columns of its definition; the age where there are none. */
export function customPrinter(columns: readonly JsonObject[]): Printer {
  const own = (columns.length > 0 ? columns : [ageColumn]).map((one) => ({
    type: stringAt(one, 'type'),
    steps: stepsOf(stringAt(one, 'jsonPath')) ?? [() => []],
    header: headerOf(one),
  }));
  return {
    columns: [column('Name'), ...own.map(({ header }) => header)],
    cells: (object, now) => [
      nameOf(object),
      ...own.map(({ type, steps }) => {
        const [first] = steps.reduce<readonly unknown[]>((values, step) => step(values), [object]);
        return cellOf(first, type, now);
      }),
    ],
  };
}

function headerOf(definition: JsonObject): Column {
  const [name, type, format] = ['name', 'type', 'format'].map((key) => stringAt(definition, key));
  const priority = Number(definition['priority'] ?? 0);
  return {
    name: name ?? '',
    type: type ?? '',
    format: format ?? '',
    description: stringAt(definition, 'description'),
    priority,
  };
}
