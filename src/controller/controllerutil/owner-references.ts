import { AgentError } from '../../base/errors.ts';
import type { Kind, KubeObject, ObjectMeta } from '../types.ts';

/** A reference to an owner, in an object's metadata. */
export type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];

/** Options of references. */
export interface OwnerReferenceOptions {
  /** Whether a foreground deletion of the owner waits for the object. Default: true for a controller, absent for other owners. */
  readonly blockOwnerDeletion?: boolean;
}

/**
 * An object cannot get a controller because another one controls it.
 *
 * @example
 * if (reason instanceof AlreadyOwnedError) return; // another controller has it
 */
export class AlreadyOwnedError extends Error {
  override readonly name = 'AlreadyOwnedError';
  readonly object: KubeObject;
  /** The controller that the object has. */
  readonly owner: OwnerReference;

  constructor(object: KubeObject, owner: OwnerReference) {
    super(`Object ${nameOf(object)} is already owned by another ${owner.kind} controller ${owner.name}`);
    this.object = object;
    this.owner = owner;
  }
}

const nameOf = ({ metadata = {} }: KubeObject): string =>
  metadata.namespace ? `${metadata.namespace}/${metadata.name ?? ''}` : (metadata.name ?? '');

const apiVersionOf = ({ group, version }: Kind): string => (group === '' ? version : `${group}/${version}`);

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

/** True when two references mean the same owner, in any version. */
const sameOwner = (one: OwnerReference, other: OwnerReference): boolean =>
  one.kind === other.kind && one.name === other.name && groupOf(one.apiVersion) === groupOf(other.apiVersion);

function reference(owner: KubeObject, kind: Kind): OwnerReference {
  const { name = '', uid = '' } = owner.metadata ?? {};
  if (name === '') throw new AgentError('invalid_argument', `the owner (${kind.kind}) has no metadata.name`);
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid };
}

/** @throws when the garbage collector could not follow such a reference */
function checkScope(owner: KubeObject, object: KubeObject): void {
  const namespace = owner.metadata?.namespace ?? '';
  if (namespace === '') return;
  const own = object.metadata?.namespace ?? '';
  if (own === '')
    throw new AgentError(
      'invalid_argument',
      `cluster-scoped resource must not have a namespace-scoped owner, owner's namespace ${namespace}`,
    );
  if (own !== namespace)
    throw new AgentError(
      'invalid_argument',
      `cross-namespace owner references are disallowed, owner's namespace ${namespace}, obj's namespace ${own}`,
    );
}

const ownersOf = (object: KubeObject): readonly OwnerReference[] => object.metadata?.ownerReferences ?? [];

function setOwners(object: KubeObject, owners: OwnerReference[]): void {
  (object.metadata ??= {}).ownerReferences = owners;
}

function upsert(object: KubeObject, added: OwnerReference): void {
  const owners = [...ownersOf(object)];
  const at = owners.findIndex((owner) => sameOwner(owner, added));
  owners[at < 0 ? owners.length : at] = added;
  setOwners(object, owners);
}

/**
 * Makes `owner` the controller of `controlled`: with the owner it is garbage collected, and its events lead to the owner. Replaces an older
 * reference to the same owner.
 *
 * @throws {AlreadyOwnedError} when another object controls it
 *
 * @example
 * setControllerReference(set, pod, kinds.ReplicaSet);
 * await client.create(kinds.Pod, pod);
 */
export function setControllerReference(
  owner: KubeObject,
  controlled: KubeObject,
  ownerKind: Kind,
  options: OwnerReferenceOptions = {},
): void {
  checkScope(owner, controlled);
  const added: OwnerReference = {
    ...reference(owner, ownerKind),
    controller: true,
    blockOwnerDeletion: options.blockOwnerDeletion ?? true,
  };
  const current = ownersOf(controlled).find(({ controller }) => controller === true);
  if (current && !sameOwner(current, added)) throw new AlreadyOwnedError(controlled, current);
  upsert(controlled, added);
}

/**
 * Adds `owner` to the owners of `object`, or replaces the reference to it: the object is garbage collected when it has no owner left.
 *
 * @example
 * setOwnerReference(room, key, Room);
 */
export function setOwnerReference(
  owner: KubeObject,
  object: KubeObject,
  ownerKind: Kind,
  options: OwnerReferenceOptions = {},
): void {
  checkScope(owner, object);
  upsert(object, {
    ...reference(owner, ownerKind),
    ...(options.blockOwnerDeletion !== undefined && { blockOwnerDeletion: options.blockOwnerDeletion }),
  });
}

/**
 * Removes the reference to `owner`. @throws when there is none
 *
 * @example
 * removeOwnerReference(set, pod, kinds.ReplicaSet);
 */
export function removeOwnerReference(owner: KubeObject, object: KubeObject, ownerKind: Kind): void {
  const removed = reference(owner, ownerKind);
  const owners = ownersOf(object);
  if (owners.length === 0)
    throw new AgentError('failed_precondition', `${nameOf(object)} does not have any owner references`);
  const rest = owners.filter((other) => !sameOwner(other, removed));
  if (rest.length === owners.length)
    throw new AgentError(
      'failed_precondition',
      `${nameOf(object)} does not have an owner reference for ${ownerKind.kind} ${removed.name}`,
    );
  setOwners(object, rest);
}

/**
 * Removes the reference to `owner`, which must be the controller. @throws when it is not
 *
 * @example
 * removeControllerReference(set, pod, kinds.ReplicaSet);
 */
export function removeControllerReference(owner: KubeObject, object: KubeObject, ownerKind: Kind): void {
  if (!hasControllerReference(object))
    throw new AgentError('failed_precondition', `${nameOf(object)} does not have a controller reference`);
  const removed = reference(owner, ownerKind);
  const current = ownersOf(object).find((other) => sameOwner(other, removed));
  if (current?.controller !== true)
    throw new AgentError(
      'failed_precondition',
      `${ownerKind.kind} ${removed.name} is not the controller of ${nameOf(object)}`,
    );
  setOwners(
    object,
    ownersOf(object).filter((other) => other !== current),
  );
}

/**
 * Reports whether `owner` is one of the owners; the version of its kind does not matter.
 *
 * @param object the owned object, or its references
 *
 * @example
 * if (hasOwnerReference(pod, set, kinds.ReplicaSet)) return;
 */
export function hasOwnerReference(
  object: KubeObject | readonly OwnerReference[] | undefined,
  owner: KubeObject,
  ownerKind: Kind,
): boolean {
  const expected = reference(owner, ownerKind);
  const owners = isList(object) ? object : ownersOf(object ?? {});
  return owners.some((other) => sameOwner(other, expected));
}

const isList = (
  value: KubeObject | readonly OwnerReference[] | undefined,
): value is readonly OwnerReference[] => Array.isArray(value);

/**
 * Reports whether `object` has a controller.
 *
 * @example
 * if (!hasControllerReference(pod)) setControllerReference(set, pod, kinds.ReplicaSet);
 */
export const hasControllerReference = (object: KubeObject): boolean =>
  ownersOf(object).some(({ controller }) => controller === true);
