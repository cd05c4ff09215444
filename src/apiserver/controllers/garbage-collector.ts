import { messageOf } from '../../base/errors.ts';
import {
  type JsonObject,
  metadataOf,
  nameOf,
  namespaceOf,
  sameJson,
  stringAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { findByKind, groupVersionOf, type Kind, kinds } from '../../apimachinery/kinds.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { type Change, keyOf } from '../storage/store.ts';
import { type ControllerDeps, systemContext } from './controllers.ts';
import {
  actionFor,
  blocks,
  foregroundFinalizer,
  isForeground,
  isOrphaning,
  orphanFinalizer,
  type OwnerState,
  ownersOf,
  unblocked,
  withoutFinalizer,
  withoutOwners,
} from './garbage-decisions.ts';

/** Identifies an object: its storage, and its key in there. */
interface Node {
  readonly storage: string;
  readonly key: string;
}

const writer = { manager: 'podtender', operation: 'Update', apiVersion: 'v1' } as const;

/**
 * GarbageCollector deletes objects whose owners do not exist any more, and executes foreground deletions and orphanings. It holds the
 * references of objects with owners only; owners are looked up in the store.
 */
export class GarbageCollector {
  readonly #deps: ControllerDeps;
  /** Objects by the UID of an owner. */
  readonly #dependents = new Map<string, Map<string, Node>>();
  readonly #builtIn: ReadonlyMap<string, Kind>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#builtIn = new Map(kinds.map((kind) => [kind.storage, kind]));
  }

  /** Collects now and after each change. @returns what ends it */
  start(): () => void {
    const { store } = this.#deps.world;
    for (const storage of store.storages())
      for (const { key, object } of store.list(storage)) this.#link({ storage, key }, object, undefined);
    for (const storage of store.storages())
      for (const { key, object } of [...store.list(storage)]) this.#changed({ storage, key }, object);
    return store.onChange((storage, changes) => {
      for (const change of changes) this.#observe(storage, change);
    });
  }

  #observe(storage: string, { type, entry, before }: Change): void {
    const node = { storage, key: entry.key };
    const { object } = entry;
    this.#link(node, type === 'DELETED' ? undefined : object, before?.object ?? object);
    if (type === 'DELETED') {
      for (const owner of ownersOf(object)) this.#recheckOwner(owner, object);
      this.#attemptAll(stringAt(metadataOf(object), 'uid'));
      return;
    }
    if (before && sameJson(ownersOf(before.object), ownersOf(object)) && !isMarked(object)) return;
    for (const owner of before ? ownersOf(before.object) : []) this.#recheckOwner(owner, object);
    this.#changed(node, object);
  }

  /** Records the references of an object in place of those of its former state. */
  #link({ storage, key }: Node, object: JsonObject | undefined, before: JsonObject | undefined): void {
    const id = `${storage}\n${key}`;
    for (const owner of before ? ownersOf(before) : []) {
      const uid = stringAt(owner, 'uid');
      const dependents = this.#dependents.get(uid);
      dependents?.delete(id);
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
    for (const owner of object ? ownersOf(object) : []) {
      const uid = stringAt(owner, 'uid');
      const dependents = this.#dependents.get(uid) ?? new Map<string, Node>();
      this.#dependents.set(uid, dependents.set(id, { storage, key }));
    }
  }

  #changed(node: Node, object: JsonObject): void {
    if (isOrphaning(object)) this.#orphan(node, object);
    else if (isForeground(object)) {
      this.#attemptAll(stringAt(metadataOf(object), 'uid'));
      this.#finishForeground(node);
    } else this.#attempt(node);
  }

  #recheckOwner(owner: JsonObject, dependent: JsonObject): void {
    const found = this.#ownerNode(owner, dependent);
    if (found !== undefined) this.#finishForeground(found);
  }

  #attemptAll(uid: string): void {
    for (const node of [...(this.#dependents.get(uid)?.values() ?? [])]) this.#attempt(node);
  }

  /** Deletes an object without owners, or removes its references to those that are gone. */
  #attempt(node: Node): void {
    const object = this.#get(node);
    if (!object || ownersOf(object).length === 0) return;
    const dependents = this.#dependentsOf(object);
    const action = actionFor(object, (owner) => this.#stateOf(owner, object), dependents);
    if (action.type === 'keep') return;
    if (action.type === 'release') {
      this.#write(node, (standing) => withoutOwners(standing, action.uids));
      return;
    }
    if (action.unblock) this.#write(node, unblocked);
    const kind = this.#kindOf(node.storage);
    if (!kind) return;
    const options = { uid: stringAt(metadataOf(object), 'uid'), propagation: action.propagation };
    this.#try(node, () => {
      const registry = this.#deps.resources.registry(kind);
      registry.delete(namespaceOf(object), nameOf(object), options, systemContext(this.#deps.world));
    });
  }

  #orphan(node: Node, object: JsonObject): void {
    const uid = stringAt(metadataOf(object), 'uid');
    for (const dependent of [...(this.#dependents.get(uid)?.values() ?? [])])
      this.#write(dependent, (standing) => withoutOwners(standing, [uid]));
    this.#write(node, (standing) => withoutFinalizer(standing, orphanFinalizer));
  }

  /** Removes the finalizer of a foreground deletion when no dependent holds it up any more. */
  #finishForeground(node: Node): void {
    const object = this.#get(node);
    if (!object || !isForeground(object)) return;
    const uid = stringAt(metadataOf(object), 'uid');
    if (this.#dependentsOf(object).some((dependent) => blocks(dependent, uid))) return;
    this.#write(node, (standing) => withoutFinalizer(standing, foregroundFinalizer));
  }

  #dependentsOf(object: JsonObject): readonly JsonObject[] {
    const nodes = this.#dependents.get(stringAt(metadataOf(object), 'uid'))?.values() ?? [];
    return [...nodes].map((node) => this.#get(node)).filter((one) => one !== undefined);
  }

  /** Returns the state of an owner. One that cannot be looked up, of an unknown kind or in no namespace, counts as present. */
  #stateOf(owner: JsonObject, dependent: JsonObject): OwnerState {
    const node = this.#ownerNode(owner, dependent);
    if (!node) return 'solid';
    const found = this.#get(node);
    if (!found || metadataOf(found)['uid'] !== owner['uid']) return 'absent';
    return isForeground(found) ? 'waiting' : 'solid';
  }

  #ownerNode(owner: JsonObject, dependent: JsonObject): Node | undefined {
    const [apiVersion, name] = [stringAt(owner, 'apiVersion'), stringAt(owner, 'kind')];
    const kind =
      findByKind(apiVersion, name) ??
      this.#deps.resources.customKinds.find((one) => groupVersionOf(one) === apiVersion && one.kind === name);
    const namespace = namespaceOf(dependent);
    if (!kind || (kind.namespaced && namespace === '')) return undefined;
    return { storage: kind.storage, key: keyOf(kind.namespaced ? namespace : '', stringAt(owner, 'name')) };
  }

  #get({ storage, key }: Node): JsonObject | undefined {
    return this.#deps.world.store.get(storage, key)?.object;
  }

  #kindOf(storage: string): Kind | undefined {
    return (
      this.#builtIn.get(storage) ?? this.#deps.resources.customKinds.find((kind) => kind.storage === storage)
    );
  }

  #write(node: Node, change: (standing: JsonObject) => JsonObject): void {
    const kind = this.#kindOf(node.storage);
    const object = this.#get(node);
    if (!kind || !object) return;
    this.#try(node, () => {
      const at = { namespace: namespaceOf(object), name: nameOf(object), subresource: '' };
      this.#deps.resources
        .registry(kind)
        .update(
          at,
          (standing) => withMetadata(standing, change(standing)),
          { ...writer, apiVersion: groupVersionOf(kind) },
          systemContext(this.#deps.world),
        );
    });
  }

  /** Runs a write; the next change of the object tries again what the server refuses. */
  #try({ storage, key }: Node, work: () => void): void {
    try {
      work();
    } catch (reason) {
      if (!(reason instanceof StatusError)) throw reason;
      if (reason.code !== 404)
        this.#deps.logger.warn('Garbage collection failed', { storage, key, err: messageOf(reason) });
    }
  }
}

const isMarked = (object: JsonObject): boolean => isOrphaning(object) || isForeground(object);
