import {
  type JsonObject,
  listAt,
  nameOf,
  namespaceOf,
  objectAt,
  valueAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { keepManaged } from '../../apimachinery/managed-fields/managed-fields.ts';
import { systemContext } from '../controllers/controllers.ts';
import type { ResourceApi } from '../endpoints/handlers/resource-api.ts';
import type { World } from '../request/write-context.ts';
import { conditionOf } from '../../apimachinery/conditions.ts';
import { withAcceptedNames } from './definition-names.ts';
import { cleanupFinalizer, definitionKind, othersThan } from './definition-strategy.ts';

interface Deps {
  readonly world: World;
  readonly resources: ResourceApi;
}

/** Looks after CustomResourceDefinitions: hands names on that come free, and removes definitions with their resources. */
export class Definitions {
  readonly #deps: Deps;
  /** States of definitions that have all names they ask for: what others do changes nothing about them. */
  readonly #settled = new WeakSet<JsonObject>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Begins to follow the definitions. @returns what ends it */
  start(): () => void {
    const { store } = this.#deps.world;
    this.#settle();
    return store.onChange((storage, changes) => {
      if (storage === definitionKind.storage) this.#settle();
      else if (changes.some(({ type }) => type === 'DELETED')) this.#settleStorage(storage);
    });
  }

  /** What is gone may have been the last object of a definition that is being deleted. */
  #settleStorage(storage: string): void {
    const [group, plural] = storage.split('/');
    const entry = this.#deps.world.store.get(definitionKind.storage, `${plural ?? ''}.${group ?? ''}`);
    if (entry && isLeaving(entry.object)) this.#finalize(entry.object);
  }

  #settle(): void {
    const { store, clock } = this.#deps.world;
    for (const { object } of [...store.list(definitionKind.storage)]) {
      if (isLeaving(object)) this.#finalize(object);
      else if (!this.#settled.has(object)) {
        const next = withAcceptedNames(object, othersThan(store, nameOf(object)), clock.now());
        if (next !== object) store.put(definitionKind.storage, keepManaged(next, object));
        else if (conditionOf(object, 'NamesAccepted')?.['status'] === 'True') this.#settled.add(object);
      }
    }
  }

  /** Deletes what there is of a definition; once that is gone takes the server's own finalizer off, and the definition goes when it was the last. */
  #finalize(definition: JsonObject): void {
    const { store } = this.#deps.world;
    const finalizers = listAt(objectAt(definition, 'metadata'), 'finalizers');
    if (!finalizers.includes(cleanupFinalizer) || this.#left(definition) > 0) return;
    const left = finalizers.filter((one) => one !== cleanupFinalizer);
    const next = withMetadata(definition, { finalizers: left.length > 0 ? left : undefined });
    if (left.length > 0) store.put(definitionKind.storage, next);
    else store.delete(definitionKind.storage, nameOf(definition), next);
  }

  /** Deletes the objects of a definition. @returns how many finalizers hold */
  #left(definition: JsonObject): number {
    const { world, resources } = this.#deps;
    const spec = objectAt(definition, 'spec');
    const storage = `${String(spec['group'])}/${String(objectAt(spec, 'names')['plural'])}`;
    const kind = resources.customKinds.find((one) => one.storage === storage);
    if (!kind) return 0;
    const registry = resources.registry(kind);
    let left = 0;
    for (const { object } of [...world.store.list(storage)])
      if (!registry.delete(namespaceOf(object), nameOf(object), {}, systemContext(world)).deleted) left++;
    return left;
  }
}

const isLeaving = (definition: JsonObject): boolean =>
  valueAt(definition, 'metadata', 'deletionTimestamp') !== undefined;
