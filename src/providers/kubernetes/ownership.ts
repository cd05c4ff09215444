import { createHash } from 'node:crypto';
import { annotationOf, keyOf, uidOf } from '../../kube/names.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';
import type { PodRef } from '../../provider/refs.ts';
import type { KubernetesSettings } from './settings.ts';

/** Whose backing objects are meant: those of one node of one cluster. Objects of others are never touched. */
export interface BackingOwner {
  readonly clusterName: string;
  readonly nodeName: string;
}

export const clusterLabel = 'podtender.io/cluster';
export const nodeLabel = 'podtender.io/node';
export const uidLabel = 'podtender.io/pod-uid';
/** `NAMESPACE/NAME` of the pod. */
export const podAnnotation = 'podtender.io/pod';
/** The labels and annotations that came from the pod, so that those that it loses are removed: a JSON object of two lists. */
export const carriedAnnotation = 'podtender.io/carried';
/** Keeps a backing pod until its final status was read. */
export const statusFinalizer = 'podtender.io/final-status';
/** Keeps a backing pod from being scheduled until the objects that it refers to exist. */
export const objectsGate = 'podtender.io/objects';

/** True for labels, annotations and finalizers that are the provider's own. */
export const isOwnKey = (key: string): boolean =>
  [clusterLabel, nodeLabel, uidLabel, podAnnotation, carriedAnnotation].includes(key);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A text as the value of a label: itself where that is possible, and else a hash of it. */
export const labelValue = (text: string): string =>
  /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text) ? text : `sha256-${sha256(text).slice(0, 40)}`;

/** The selector of all backing objects of an owner. */
export const ownerSelector = ({ clusterName, nodeName }: BackingOwner): string =>
  `${clusterLabel}=${labelValue(clusterName)},${nodeLabel}=${labelValue(nodeName)}`;

/** The labels of a backing object. */
export const ownerLabels = (
  { clusterName, nodeName }: BackingOwner,
  uid: string,
): Record<string, string> => ({
  [clusterLabel]: labelValue(clusterName),
  [nodeLabel]: labelValue(nodeName),
  [uidLabel]: labelValue(uid),
});

/** True for an object that belongs to the pod with this UID of this owner. */
export function isOwned({ metadata }: KubeObject, owner: BackingOwner, uid: string): boolean {
  return Object.entries(ownerLabels(owner, uid)).every(([key, value]) => metadata?.labels?.[key] === value);
}

/** The pod that a backing pod runs; undefined for one of another owner. */
export function identityOf(backing: Pod, { clusterName, nodeName }: BackingOwner): PodRef | undefined {
  const labels = backing.metadata?.labels ?? {};
  if (labels[clusterLabel] !== labelValue(clusterName) || labels[nodeLabel] !== labelValue(nodeName))
    return undefined;
  const [namespace, name] = (annotationOf(backing, podAnnotation) ?? '').split('/');
  const uid = labels[uidLabel] ?? '';
  return uid === '' || !namespace || !name ? undefined : { uid, name, namespace };
}

/** The longest name of a backing pod: that of a host, so that names of objects made from it fit too. */
const longestName = 63;
const hashLength = 10;

/** The name of a pod's backing pod: its own and a hash of node and UID, so that pods of one name do not clash. */
export function backingName(
  { clusterName, nodeName }: BackingOwner,
  { name, uid }: Pick<PodRef, 'name' | 'uid'>,
): string {
  const hash = sha256([clusterName, nodeName, uid].join('/')).slice(0, hashLength);
  const head = name.slice(0, longestName - hashLength - 1).replace(/[^a-z0-9]+$/, '');
  return `${head.replaceAll('.', '-')}-${hash}`;
}

/** The backing namespace of a pod's namespace; undefined where none is mapped to it. */
export function backingNamespace(
  {
    namespace,
    namespaces = {},
    namespacePrefix,
  }: Pick<KubernetesSettings, 'namespace' | 'namespaces' | 'namespacePrefix'>,
  own: string,
): string | undefined {
  if (Object.hasOwn(namespaces, own)) return namespaces[own];
  if (namespacePrefix === undefined) return namespace;
  const whole = namespacePrefix + own;
  return whole.length <= longestName
    ? whole
    : `${whole.slice(0, longestName - hashLength - 1)}-${sha256(whole).slice(0, hashLength)}`;
}

/** The backing namespaces to watch; undefined: all of the cluster. */
export function watchedNamespaces({
  namespace,
  namespaces = {},
  namespacePrefix,
}: Pick<KubernetesSettings, 'namespace' | 'namespaces' | 'namespacePrefix'>): readonly string[] | undefined {
  if (namespacePrefix !== undefined) return undefined;
  return [...new Set([...Object.values(namespaces), ...(namespace === undefined ? [] : [namespace])])];
}

/** The reference by which the backing cluster removes an object together with a backing pod. */
export const ownerReferenceTo = (
  backing: Pod,
): NonNullable<NonNullable<Pod['metadata']>['ownerReferences']>[number] => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name: backing.metadata?.name ?? '',
  uid: uidOf(backing),
});

/** `NAMESPACE/NAME` of an object, for messages. */
export const placeOf = (object: KubeObject): string => keyOf(object);
