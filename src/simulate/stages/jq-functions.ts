/** A filter of jq: returns every output for an input. */
export type Filter = (input: unknown) => readonly unknown[];

type Make = (args: readonly Filter[]) => Filter;

export const isTruthy = (value: unknown): boolean => value !== null && value !== undefined && value !== false;

const one =
  (map: (input: unknown) => unknown): Make =>
  () =>
  (input) => [map(input)];

/** Makes a function of one argument; it is called for each output of the argument. */
const withText =
  (map: (input: unknown, argument: unknown) => unknown): Make =>
  ([argument]) =>
  (input) =>
    (argument?.(input) ?? []).map((value) => map(input, value));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value as readonly unknown[];
  return isRecord(value) ? Object.values(value) : [];
};

const lengthOf = (value: unknown): number => {
  if (typeof value === 'string') return Array.from(value).length;
  if (typeof value === 'number') return Math.abs(value);
  return listOf(value).length;
};

const typeOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

const has = (input: unknown, key: unknown): boolean => {
  if (Array.isArray(input)) return typeof key === 'number' && key < input.length;
  return isRecord(input) && Object.hasOwn(input, String(key));
};

const contains = (input: unknown, part: unknown): boolean => {
  if (typeof input === 'string') return typeof part === 'string' && input.includes(part);
  if (Array.isArray(input))
    return listOf(part).every((expected) =>
      (input as unknown[]).some((member) => contains(member, expected)),
    );
  if (isRecord(input) && isRecord(part))
    return Object.entries(part).every(
      ([key, expected]) => Object.hasOwn(input, key) && contains(input[key], expected),
    );
  return input === part;
};

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

const quantified =
  (some: boolean): Make =>
  ([condition]) =>
  (input) => {
    const test = (member: unknown): boolean =>
      condition ? condition(member).some(isTruthy) : isTruthy(member);
    return [some ? listOf(input).some(test) : listOf(input).every(test)];
  };

const entriesOf = (value: unknown): readonly unknown[] =>
  isRecord(value) ? Object.entries(value).map(([key, member]) => ({ key, value: member })) : [];

/** The supported functions of jq by name and number of arguments. */
export const jqFunctions: Readonly<Record<string, Make>> = {
  'select/1':
    ([condition]) =>
    (input) =>
      (condition?.(input) ?? []).filter(isTruthy).map(() => input),
  'map/1':
    ([filter]) =>
    (input) => [listOf(input).flatMap((member) => filter?.(member) ?? [])],
  'any/0': quantified(true),
  'any/1': quantified(true),
  'all/0': quantified(false),
  'all/1': quantified(false),
  'empty/0': () => () => [],
  'not/0': one((input) => !isTruthy(input)),
  'length/0': one(lengthOf),
  'type/0': one(typeOf),
  'keys/0': one((input) => (Array.isArray(input) ? [...input.keys()] : Object.keys(input ?? {}).sort())),
  'first/0': one((input) => listOf(input).at(0) ?? null),
  'last/0': one((input) => listOf(input).at(-1) ?? null),
  'to_entries/0': one((input) => entriesOf(input)),
  'tostring/0': one(text),
  'tonumber/0': one(Number),
  'ascii_downcase/0': one((input) => text(input).toLowerCase()),
  'ascii_upcase/0': one((input) => text(input).toUpperCase()),
  'has/1': withText(has),
  'contains/1': withText(contains),
  'startswith/1': withText((input, part) => text(input).startsWith(text(part))),
  'endswith/1': withText((input, part) => text(input).endsWith(text(part))),
  'test/1': withText(
    (input, pattern) => typeof input === 'string' && new RegExp(text(pattern), 'u').test(input),
  ),
  'split/1': withText((input, separator) => text(input).split(text(separator))),
  'join/1': withText((input, separator) => listOf(input).map(text).join(text(separator))),
};
