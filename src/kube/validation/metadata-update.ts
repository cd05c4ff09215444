import type { ObjectMeta } from '../types.ts';
import { type Faults, forbidden, invalid } from './field-error.ts';
import { validateMetadataMaps } from './metadata.ts';

const immutable = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/**
 * The metadata of an object that is to replace another: identity stays, generations do not go back, the maps are valid.
 *
 * Follows apimachinery `ValidateObjectMetaUpdate`.
 */
export function* validateMetadataUpdate(field: string, meta: ObjectMeta, old: ObjectMeta): Faults {
  if (old.deletionTimestamp !== undefined) {
    const added = (meta.finalizers ?? []).filter((finalizer) => !(old.finalizers ?? []).includes(finalizer));
    if (added.length > 0)
      yield forbidden(
        `${field}.finalizers`,
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => `"${name}"`).join(', ')}}`,
      );
  }
  if ((meta.resourceVersion ?? '') === '')
    yield invalid(`${field}.resourceVersion`, meta.resourceVersion ?? '', 'must be specified for an update');
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    yield invalid(`${field}.generation`, meta.generation ?? 0, 'must not be decremented');
  for (const key of immutable)
    if (meta[key] !== old[key]) yield invalid(`${field}.${key}`, meta[key] ?? null, 'field is immutable');
  yield* validateMetadataMaps(field, meta);
}
