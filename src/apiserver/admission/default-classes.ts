import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  specOf,
  stringAt,
  withSpec,
} from '../../apimachinery/json.ts';
import { type AdmissionPlugin, type Attributes, isResource } from './plugin.ts';

/** Returns the default class of a storage: the newest of those with the annotation, by name among equally old ones. */
function defaultClass({ context }: Attributes, storage: string, annotation: string): JsonObject | undefined {
  const created = (one: JsonObject): string => stringAt(metadataOf(one), 'creationTimestamp');
  return [...context.world.store.list(storage)]
    .map(({ object }) => object)
    .filter((one) => stringAt(objectAt(metadataOf(one), 'annotations'), annotation) === 'true')
    .sort((a, b) =>
      created(a) === created(b) ? (nameOf(a) < nameOf(b) ? -1 : 1) : created(a) < created(b) ? 1 : -1,
    )[0];
}

/** Sets the default storage class on claims without one. */
export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' && subresource === '' && isResource(kind, 'persistentvolumeclaims'),
  admit(attributes) {
    const { object } = attributes;
    const old = 'volume.beta.kubernetes.io/storage-class';
    if (!object || specOf(object)['storageClassName'] !== undefined) return undefined;
    if (Object.hasOwn(objectAt(metadataOf(object), 'annotations'), old)) return undefined;
    const found = defaultClass(
      attributes,
      'storage.k8s.io/storageclasses',
      'storageclass.kubernetes.io/is-default-class',
    );
    return found && withSpec(object, { storageClassName: nameOf(found) });
  },
};

/** Sets the default ingress class on ingresses without one. */
export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' && subresource === '' && isResource(kind, 'ingresses', 'networking.k8s.io'),
  admit(attributes) {
    const { object } = attributes;
    if (!isObject(object) || specOf(object)['ingressClassName'] !== undefined) return undefined;
    if (Object.hasOwn(objectAt(metadataOf(object), 'annotations'), 'kubernetes.io/ingress.class'))
      return undefined;
    const found = defaultClass(
      attributes,
      'networking.k8s.io/ingressclasses',
      'ingressclass.kubernetes.io/is-default-class',
    );
    return found && withSpec(object, { ingressClassName: nameOf(found) });
  },
};
