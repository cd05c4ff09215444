import type { JsonObject } from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import type { Writer } from '../../apimachinery/managed-fields/managed-fields.ts';
import { nameOf, namespaceOf } from '../../apimachinery/json.ts';
import { keyOf } from '../storage/store.ts';
import { type ControllerDeps, systemContext } from './controllers.ts';

/** What writes of the server's own objects use. */
export interface OwnDeps extends Pick<ControllerDeps, 'world' | 'resources'> {
  /** The manager of the fields that are written. Default: `kube-apiserver`. */
  readonly manager?: string;
}

const writerOf = (kind: Kind, { manager = 'kube-apiserver' }: OwnDeps): Writer => ({
  manager,
  operation: 'Update',
  apiVersion: groupVersionOf(kind),
});

/** Returns an object of the server's own, if it exists. */
export const ownObject = ({ world }: OwnDeps, kind: Kind, object: JsonObject): JsonObject | undefined =>
  world.store.get(kind.storage, keyOf(namespaceOf(object), nameOf(object)))?.object;

/**
 * Creates an object of the server's own, unless it exists.
 *
 * @param status the status that another manager applies to a new object
 */
export function createOwn(
  deps: OwnDeps,
  kind: Kind,
  object: JsonObject,
  status?: { readonly status: JsonObject; readonly manager: string },
): void {
  if (ownObject(deps, kind, object)) return;
  const applied = status && {
    status: status.status,
    writer: statusWriter(kind, { ...deps, manager: status.manager }),
  };
  const context = systemContext(deps.world);
  deps.resources.registry(kind).createOwn(object, writerOf(kind, deps), context, applied);
}

/**
 * Creates an object of the server's own, or changes the one that is there.
 *
 * @param change returns the same object when there is nothing to change
 */
export function putOwn(
  deps: OwnDeps,
  kind: Kind,
  object: JsonObject,
  change: (standing: JsonObject) => JsonObject,
): void {
  const standing = ownObject(deps, kind, object);
  if (!standing) createOwn(deps, kind, object);
  else if (change(standing) !== standing) {
    const at = { namespace: namespaceOf(object), name: nameOf(object), subresource: '' };
    deps.resources.registry(kind).update(at, change, writerOf(kind, deps), systemContext(deps.world));
  }
}

const statusWriter = (kind: Kind, deps: OwnDeps): Writer => ({
  ...writerOf(kind, deps),
  operation: 'Apply',
  subresource: 'status',
});

/** Applies a status of the server's own, by force. */
export function applyOwnStatus(deps: OwnDeps, kind: Kind, object: JsonObject): void {
  const at = { namespace: namespaceOf(object), name: nameOf(object), subresource: 'status', force: true };
  const config = { apiVersion: groupVersionOf(kind), kind: kind.kind, ...object };
  deps.resources.registry(kind).apply(at, config, statusWriter(kind, deps), systemContext(deps.world));
}
