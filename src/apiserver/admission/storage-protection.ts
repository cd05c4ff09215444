import { type JsonObject, listAt, objectAt, withMetadata } from '../../apimachinery/json.ts';
import { type AdmissionPlugin, isResource } from './plugin.ts';

/** Adds a finalizer to each new claim and volume, so that it is not deleted while in use. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' &&
    subresource === '' &&
    (isResource(kind, 'persistentvolumeclaims') || isResource(kind, 'persistentvolumes')),
  admit: ({ object, kind }) =>
    object &&
    protectedBy(
      object,
      kind.resource === 'persistentvolumes' ? 'kubernetes.io/pv-protection' : 'kubernetes.io/pvc-protection',
    ),
};

function protectedBy(object: JsonObject, finalizer: string): JsonObject {
  const finalizers = listAt(objectAt(object, 'metadata'), 'finalizers');
  return finalizers.includes(finalizer)
    ? object
    : withMetadata(object, { finalizers: [...finalizers, finalizer] });
}
