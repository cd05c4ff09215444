import { goQuote } from '../../go/go-quote.ts';
import type { ObjectMeta } from '../types.ts';
import { type Faults, forbidden, invalid } from './field-error.ts';
import { validateMetadataMaps } from './metadata.ts';

/** Immutable metadata fields. */
export const immutableMetadata = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/**
 * Validates the metadata of an update: identity is immutable, the generation does not decrease, the maps are valid.
 *
 * Follows apimachinery `ValidateObjectMetaUpdate`.
 */
export function* validateMetadataUpdate(
  field: string,
  meta: ObjectMeta,
  old: ObjectMeta,
  knownFinalizers = true,
): Faults {
  if (old.deletionTimestamp !== undefined)
    yield* noNewFinalizers(`${field}.finalizers`, meta.finalizers ?? [], old.finalizers ?? []);
  yield* revisions(field, meta, old);
  for (const key of immutableMetadata)
    if (meta[key] !== old[key]) yield invalid(`${field}.${key}`, meta[key] ?? null, 'field is immutable');
  yield* validateMetadataMaps(field, meta, knownFinalizers);
}

function* noNewFinalizers(field: string, after: readonly string[], before: readonly string[]): Faults {
  const added = after.filter((finalizer) => !before.includes(finalizer)).map(goQuote);
  if (added.length > 0)
    yield forbidden(
      field,
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.join(', ')}}`,
    );
}

function* revisions(field: string, meta: ObjectMeta, old: ObjectMeta): Faults {
  if ((meta.resourceVersion ?? '') === '')
    yield invalid(`${field}.resourceVersion`, meta.resourceVersion ?? '', 'must be specified for an update');
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    yield invalid(`${field}.generation`, meta.generation ?? 0, 'must not be decremented');
}
