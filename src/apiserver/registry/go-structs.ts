import { ownMember } from '../../base/own.ts';
import { fieldsOf, type Shape } from '../../apimachinery/api-types.ts';

/** Returns a value with the fields of its structs in Go's order. */
export function inGoOrder(value: unknown, shape: Shape | undefined): unknown {
  if (Array.isArray(value))
    return shape?.is === 'list' ? value.map((item: unknown) => inGoOrder(item, shape.of)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Readonly<Record<string, unknown>>;
  if (shape?.is === 'map')
    return Object.fromEntries(
      Object.keys(members)
        .sort()
        .map((key) => [key, inGoOrder(ownMember(members, key), shape.of)]),
    );
  const fields = shape?.is === 'struct' ? fieldsOf(shape.type) : undefined;
  if (!fields || fields.size === 0) return value;
  const present = [...fields.values()].filter(({ name }) => ownMember(members, name) !== undefined);
  const unknown = Object.entries(members).filter(([name]) => !fields.has(name));
  return Object.fromEntries([
    ...present.map(({ name, shape: of }) => [name, inGoOrder(ownMember(members, name), of)] as const),
    ...unknown,
  ]);
}
