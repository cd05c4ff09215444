import { type JsonObject, listAt, metadataOf, objectsAt, stringAt } from '../../apimachinery/json.ts';

/** State of an owner: `solid` exists, `absent` does not, `waiting` is deleted in the foreground and waits for its dependents. */
export type OwnerState = 'solid' | 'absent' | 'waiting';

/** Finalizers of the garbage collector. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** What the garbage collector does with an object. */
export type GarbageAction =
  | { readonly type: 'keep' }
  /** Removes the references to these owners: others keep the object. */
  | { readonly type: 'release'; readonly uids: readonly string[] }
  | {
      readonly type: 'delete';
      readonly propagation: 'Orphan' | 'Background' | 'Foreground';
      /** Whether `blockOwnerDeletion` of all references is cleared first, so that owners do not wait for each other. */
      readonly unblock: boolean;
    };

const hasFinalizer = (object: JsonObject, name: string): boolean =>
  listAt(metadataOf(object), 'finalizers').includes(name);

/** Reports whether the object is marked for deletion. */
export const isDeleted = (object: JsonObject): boolean =>
  metadataOf(object)['deletionTimestamp'] !== undefined;

/** True for a deleted object whose dependents are deleted first. */
export const isForeground = (object: JsonObject): boolean =>
  isDeleted(object) && hasFinalizer(object, foregroundFinalizer);

/** True for a deleted object whose dependents are orphaned first. */
export const isOrphaning = (object: JsonObject): boolean =>
  isDeleted(object) && hasFinalizer(object, orphanFinalizer);

/** Returns the owner references of an object. */
export const ownersOf = (object: JsonObject): readonly JsonObject[] =>
  objectsAt(metadataOf(object), 'ownerReferences');

/** Reports whether a dependent holds up the foreground deletion of its owner. */
export const blocks = (dependent: JsonObject, ownerUid: string): boolean =>
  ownersOf(dependent).some((owner) => owner['uid'] === ownerUid && owner['blockOwnerDeletion'] === true);

/**
 * Returns what is done with an object, as by `attemptToDeleteItem` of kube-controller-manager.
 *
 * @param dependents its own dependents: one of them with foreground deletion means a circle, which is unblocked
 */
export function actionFor(
  object: JsonObject,
  stateOf: (owner: JsonObject) => OwnerState,
  dependents: readonly JsonObject[],
): GarbageAction {
  const owners = ownersOf(object);
  if (owners.length === 0 || isDeleted(object)) return { type: 'keep' };
  const states = owners.map((owner) => ({ uid: stringAt(owner, 'uid'), state: stateOf(owner) }));
  const gone = states.filter(({ state }) => state !== 'solid');
  if (gone.length === 0) return { type: 'keep' };
  if (gone.length < states.length) return { type: 'release', uids: gone.map(({ uid }) => uid) };
  if (gone.some(({ state }) => state === 'waiting') && dependents.length > 0)
    return { type: 'delete', propagation: 'Foreground', unblock: dependents.some(isForeground) };
  const propagation = hasFinalizer(object, orphanFinalizer)
    ? 'Orphan'
    : hasFinalizer(object, foregroundFinalizer)
      ? 'Foreground'
      : 'Background';
  return { type: 'delete', propagation, unblock: false };
}

/** Returns the metadata changes that remove the references to owners. */
export const withoutOwners = (object: JsonObject, uids: readonly string[]): JsonObject => {
  const rest = ownersOf(object).filter((owner) => !uids.includes(stringAt(owner, 'uid')));
  return { ownerReferences: rest.length > 0 ? rest : undefined };
};

/** Returns the metadata changes with which no owner waits for the object. */
export const unblocked = (object: JsonObject): JsonObject => ({
  ownerReferences: ownersOf(object).map((owner) =>
    owner['blockOwnerDeletion'] === true ? { ...owner, blockOwnerDeletion: false } : owner,
  ),
});

/** Returns the metadata changes that remove a finalizer. */
export const withoutFinalizer = (object: JsonObject, name: string): JsonObject => {
  const rest = listAt(metadataOf(object), 'finalizers').filter((one) => one !== name);
  return { finalizers: rest.length > 0 ? rest : undefined };
};
