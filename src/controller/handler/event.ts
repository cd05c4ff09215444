import type { KubeObject } from '../types.ts';

/** An object appeared: it was created, or it existed before the source started. */
export interface CreateEvent<T extends KubeObject = KubeObject> {
  readonly object: T;
  /** Whether the object existed before the source started. */
  readonly isInInitialList?: boolean;
}

/** An object changed, or a resync delivers it again with the same resource version. */
export interface UpdateEvent<T extends KubeObject = KubeObject> {
  readonly objectOld: T;
  readonly objectNew: T;
}

/** An object was deleted. */
export interface DeleteEvent<T extends KubeObject = KubeObject> {
  /** The last state that was seen. */
  readonly object: T;
  /** Whether the deletion itself was missed, so that `object` may lack later changes. */
  readonly deleteStateUnknown?: boolean;
}

/** Something outside of the cluster happened that concerns an object. */
export interface GenericEvent<T extends KubeObject = KubeObject> {
  readonly object: T;
}
