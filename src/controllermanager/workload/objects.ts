import { sameJson } from '../../apimachinery/json.ts';
import { apiVersionOf } from '../../controller/kinds.ts';
import type { OwnerReference } from '../../controller/controllerutil/owner-references.ts';
import type { Kind, KubeObject } from '../../controller/types.ts';
import type { Pod, PodTemplate } from './types.ts';

export const nameOf = ({ metadata }: KubeObject): string => metadata?.name ?? '';
export const namespaceOf = ({ metadata }: KubeObject): string => metadata?.namespace ?? '';
export const uidOf = ({ metadata }: KubeObject): string => metadata?.uid ?? '';
export const isDeleted = ({ metadata }: KubeObject): boolean => metadata?.deletionTimestamp !== undefined;
export const createdMs = ({ metadata }: KubeObject): number =>
  metadata?.creationTimestamp === undefined ? 0 : Date.parse(metadata.creationTimestamp);

/** Orders objects by creation, and objects of one second by name. */
export const byCreation = (one: KubeObject, other: KubeObject): number =>
  createdMs(one) - createdMs(other) || (nameOf(one) < nameOf(other) ? -1 : 1);

/** Returns the reference to an object's controller. */
export const controllerOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata?.ownerReferences?.find(({ controller }) => controller === true);

export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === uidOf(owner);

export const controllerReference = (owner: KubeObject, kind: Kind): OwnerReference => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  name: nameOf(owner),
  uid: uidOf(owner),
  controller: true,
  blockOwnerDeletion: true,
});

/** Characters of hashes in names: no vowels, so that no words appear (`SafeEncodeString`). */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns a text for a hash in which no words appear. */
export const safeText = (text: string): string =>
  text.replace(/./gsu, (char) => alphabet[(char.codePointAt(0) ?? 0) % alphabet.length] ?? '');

/** Returns a pod of a template; the caller adds a name or a prefix. */
export function podOf(template: PodTemplate | undefined, owner: KubeObject, kind: Kind): Pod {
  const { labels, annotations, finalizers } = template?.metadata ?? {};
  return {
    metadata: {
      namespace: namespaceOf(owner),
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(owner, kind)],
    },
    ...(template?.spec && { spec: template.spec }),
  };
}

/** Returns the prefix of generated names: that of the owner, unless it is too long. */
export const prefixOf = (owner: KubeObject): string =>
  nameOf(owner).length > 252 ? nameOf(owner) : `${nameOf(owner)}-`;

/** Returns a number of a text in a percentage (`25%`) of a total, or the number itself. */
export function scaledValue(value: number | string | undefined, total: number, round: 'up' | 'down'): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  if (!value.endsWith('%')) return Number(value);
  const scaled = (Number(value.slice(0, -1)) * total) / 100;
  return round === 'up' ? Math.ceil(scaled) : Math.floor(scaled);
}

/** Compares statuses; numbers that are absent are 0. */
export function sameStatus(one: object | undefined, other: object): boolean {
  const filled = (status: object): object =>
    Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
  return sameJson(filled(one ?? {}), filled(other));
}
