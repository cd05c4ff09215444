import { fieldSelector, resourceSelector } from './environment.ts';
import { type Faults, invalid, required } from './field-error.ts';
import { fileMode, nonReservedPath, textOf } from './shared.ts';

type Source = Readonly<Record<string, unknown>>;

const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Validates a downward API volume. */
export function* validateDownwardApi(field: string, source: Source): Faults {
  yield* fileMode(`${field}.defaultMode`, source['defaultMode'] as number | undefined);
  for (const item of (source['items'] ?? []) as readonly Source[]) yield* downwardFile(field, item);
}

/** Validates one file; its errors are reported for the volume. */
export function* downwardFile(field: string, item: Source): Faults {
  const path = textOf(item, 'path');
  if (path === '') yield required(`${field}.path`);
  else yield* nonReservedPath(`${field}.path`, path);
  const fieldRef = item['fieldRef'] as Source | undefined;
  const resourceRef = item['resourceFieldRef'] as Source | undefined;
  if (fieldRef) {
    yield* fieldSelector(`${field}.fieldRef`, fieldRef, volumeFields);
    if (resourceRef)
      yield invalid(field, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
  } else if (resourceRef) yield* resourceSelector(`${field}.resourceFieldRef`, resourceRef, true);
  else yield required(field, 'one of fieldRef and resourceFieldRef is required');
  yield* fileMode(`${field}.mode`, item['mode'] as number | undefined);
}
