import { type JsonObject, listAt, objectAt, withMetadata } from '../../apimachinery/json.ts';
import { tableOf } from '../../base/own.ts';
import type { AdmissionPlugin } from './plugin.ts';

const finalizers: Readonly<Record<string, string>> = tableOf({
  persistentvolumes: 'kubernetes.io/pv-protection',
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  volumeattributesclasses: 'kubernetes.io/vac-protection',
});
const groups = new Set(['', 'storage.k8s.io']);

/** Adds a finalizer to each new claim, volume and volume attributes class, so that it is not deleted while in use. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' &&
    subresource === '' &&
    groups.has(kind.group) &&
    finalizers[kind.resource] !== undefined,
  admit: ({ object, kind }) => object && protectedBy(object, finalizers[kind.resource] ?? ''),
};

function protectedBy(object: JsonObject, finalizer: string): JsonObject {
  const list = listAt(objectAt(object, 'metadata'), 'finalizers');
  return list.includes(finalizer) ? object : withMetadata(object, { finalizers: [...list, finalizer] });
}
