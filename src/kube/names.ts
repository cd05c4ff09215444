import { ownMember } from '../base/own.ts';
import type { KubeObject, Pod } from './types.ts';

/** Annotation with the source of a pod (`api`, `file`, `http`). */
export const configSourceAnnotation = 'kubernetes.io/config.source';
/** Annotation with the hash of a static pod's manifest, which is also its UID unless the manifest sets one. */
export const configHashAnnotation = 'kubernetes.io/config.hash';
/** Annotation with the time at which the agent first saw the pod (RFC 3339, nine fractional digits). */
export const configSeenAnnotation = 'kubernetes.io/config.seen';
/** Annotation of a mirror pod with the config hash of its static pod. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** The sources of pods. */
export type PodSource = 'api' | 'file' | 'http';

export const uidOf = (object: KubeObject): string => object.metadata?.uid ?? '';
export const nameOf = (object: KubeObject): string => object.metadata?.name ?? '';
export const namespaceOf = (object: KubeObject): string => object.metadata?.namespace ?? '';
export const annotationOf = (object: KubeObject, key: string): string | undefined =>
  ownMember(object.metadata?.annotations, key);

/** Prefix of the deprecated AppArmor annotation; a container name follows. */
export const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/';

/**
 * Returns `name_namespace`, the kubelet's full name of a pod. Uses join(): V8 keeps two copies of a template's text once it is a map key.
 */
export const fullNameOf = (object: KubeObject): string => [nameOf(object), namespaceOf(object)].join('_');

/** Returns `namespace/name`, the key for logs and caches. */
export const keyOf = (object: KubeObject): string => `${namespaceOf(object)}/${nameOf(object)}`;

/** True for static pods: their source annotation is set and is not the API server (R26). */
export function isStaticPod(pod: Pod): boolean {
  const source = annotationOf(pod, configSourceAnnotation);
  return source !== undefined && source !== 'api';
}

/** True for mirror pods: they have the mirror annotation (R26). */
export const isMirrorPod = (pod: Pod): boolean => annotationOf(pod, configMirrorAnnotation) !== undefined;

/**
 * Returns the object with its kind set. Items of lists and pods from files have none; of those, the agent refers only to pods and nodes,
 * and only pods have containers.
 */
export function withKind<T extends KubeObject>(object: T): T {
  if (object.kind !== undefined && object.kind !== '') return object;
  const { spec } = object as { readonly spec?: object };
  const kind = spec && 'containers' in spec ? 'Pod' : 'status' in object ? 'Node' : 'Pod';
  return { apiVersion: 'v1', ...object, kind };
}
