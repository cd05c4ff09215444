import { ownMember } from '../base/own.ts';
import type { KubeObject, Pod } from './types.ts';

/** Annotation: which source a pod came from (`api`, `file`, `http`). */
export const configSourceAnnotation = 'kubernetes.io/config.source';
/** Annotation: the hash of a static pod's manifest, also its UID unless the manifest sets one. */
export const configHashAnnotation = 'kubernetes.io/config.hash';
/** Annotation: when the agent first saw the pod (RFC 3339, nine fractional digits). */
export const configSeenAnnotation = 'kubernetes.io/config.seen';
/** Annotation: on a mirror pod, the config hash of its static pod. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** The three places that pods come from. */
export type PodSource = 'api' | 'file' | 'http';

export const uidOf = (object: KubeObject): string => object.metadata?.uid ?? '';
export const nameOf = (object: KubeObject): string => object.metadata?.name ?? '';
export const namespaceOf = (object: KubeObject): string => object.metadata?.namespace ?? '';
export const annotationOf = (object: KubeObject, key: string): string | undefined =>
  ownMember(object.metadata?.annotations, key);

/** Before a container's name: the annotation that named its AppArmor profile before there was a field. */
export const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/';

/** `name_namespace`, the kubelet's full name of a pod. Joined: a template's text, once looked up in a map, is kept as two. */
export const fullNameOf = (object: KubeObject): string => [nameOf(object), namespaceOf(object)].join('_');

/** `namespace/name`, the key of logs and caches. */
export const keyOf = (object: KubeObject): string => `${namespaceOf(object)}/${nameOf(object)}`;

/** R26: a pod is static iff it names a source and that is not the API server. */
export function isStaticPod(pod: Pod): boolean {
  const source = annotationOf(pod, configSourceAnnotation);
  return source !== undefined && source !== 'api';
}

/** R26: a pod is a mirror iff it carries the mirror annotation. */
export const isMirrorPod = (pod: Pod): boolean => annotationOf(pod, configMirrorAnnotation) !== undefined;

/**
 * The object with its kind said. Items of lists and pods from files come without one; of those the agent reports on pods and nodes alone,
 * and only pods have containers.
 */
export function withKind<T extends KubeObject>(object: T): T {
  if (object.kind !== undefined && object.kind !== '') return object;
  const { spec } = object as { readonly spec?: object };
  const kind = spec && 'containers' in spec ? 'Pod' : 'status' in object ? 'Node' : 'Pod';
  return { apiVersion: 'v1', ...object, kind };
}
