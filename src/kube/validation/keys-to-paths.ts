import { type Faults, required } from './field-error.ts';
import { fileMode, nonReservedPath, textOf } from './shared.ts';

type Source = Readonly<Record<string, unknown>>;

/** Validates the items of a ConfigMap or Secret volume. */
export function* keysToPaths(field: string, items: unknown): Faults {
  for (const [i, item] of ((items ?? []) as readonly Source[]).entries())
    yield* keyToPath(`${field}[${i}]`, item);
}

/** Validates one item. */
export function* keyToPath(field: string, item: Source): Faults {
  if (textOf(item, 'key') === '') yield required(`${field}.key`);
  if (textOf(item, 'path') === '') yield required(`${field}.path`);
  else yield* nonReservedPath(`${field}.path`, textOf(item, 'path'));
  yield* fileMode(`${field}.mode`, item['mode'] as number | undefined);
}
