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

/** Creates an object of the server's own, unless it exists. */
export function createOwn(deps: OwnDeps, kind: Kind, object: JsonObject): void {
  putOwn(deps, kind, object, (standing) => standing);
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
  const registry = deps.resources.registry(kind);
  const [namespace, name] = [namespaceOf(object), nameOf(object)];
  const [standing, writer] = [ownObject(deps, kind, object), writerOf(kind, deps)];
  if (!standing) registry.create(namespace, object, writer, systemContext(deps.world));
  else if (change(standing) !== standing)
    registry.update({ namespace, name, subresource: '' }, change, writer, systemContext(deps.world));
}

/** Applies a status of the server's own, by force. */
export function applyOwnStatus(deps: OwnDeps, kind: Kind, object: JsonObject): void {
  const at = { namespace: namespaceOf(object), name: nameOf(object), subresource: 'status', force: true };
  const writer = { ...writerOf(kind, deps), operation: 'Apply', subresource: 'status' } as const;
  const config = { apiVersion: groupVersionOf(kind), kind: kind.kind, ...object };
  deps.resources.registry(kind).apply(at, config, writer, systemContext(deps.world));
}
