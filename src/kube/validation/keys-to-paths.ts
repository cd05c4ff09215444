import { type Faults, required } from './field-error.ts';
import { fileMode, nonReservedPath, textOf } from './shared.ts';

type Source = Readonly<Record<string, unknown>>;

/** Keys of a ConfigMap or Secret as files. */
export function* keysToPaths(field: string, items: unknown): Faults {
  for (const [i, item] of ((items ?? []) as readonly Source[]).entries()) {
    const at = `${field}[${i}]`;
    if (textOf(item, 'key') === '') yield required(`${at}.key`);
    if (textOf(item, 'path') === '') yield required(`${at}.path`);
    else yield* nonReservedPath(`${at}.path`, textOf(item, 'path'));
    yield* fileMode(`${at}.mode`, item['mode'] as number | undefined);
  }
}
