import { type JsonObject, listAt, nameOf, objectAt, valueAt, withMetadata } from '../../apimachinery/json.ts';
import type { Clock } from '../../base/clock.ts';
import { keepManaged } from '../../apimachinery/managed-fields/managed-fields.ts';
import type { Store } from '../storage/store.ts';
import { withAcceptedNames } from './definition-names.ts';
import { cleanupFinalizer, definitionKind, othersThan } from './definition-strategy.ts';

/** Looks after CustomResourceDefinitions: names that come free are handed on, and what is being deleted goes once it is empty. */
export class Definitions {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Begins to follow the definitions. @returns what ends it */
  start(): () => void {
    this.#settle();
    return this.#store.onChange((storage) => {
      if (storage === definitionKind.storage) this.#settle();
    });
  }

  #settle(): void {
    for (const { object } of [...this.#store.list(definitionKind.storage)]) {
      if (valueAt(object, 'metadata', 'deletionTimestamp') !== undefined) this.#finalize(object);
      else {
        const others = othersThan(this.#store, nameOf(object));
        const next = withAcceptedNames(object, others, this.#clock.now());
        if (next !== object) this.#store.put(definitionKind.storage, keepManaged(next, object));
      }
    }
  }

  /** Takes the server's own finalizer off; the definition goes when it was the last. */
  #finalize(definition: JsonObject): void {
    const finalizers = listAt(objectAt(definition, 'metadata'), 'finalizers');
    if (!finalizers.includes(cleanupFinalizer)) return;
    const left = finalizers.filter((one) => one !== cleanupFinalizer);
    const next = withMetadata(definition, { finalizers: left.length > 0 ? left : undefined });
    if (left.length > 0) this.#store.put(definitionKind.storage, next);
    else this.#store.delete(definitionKind.storage, nameOf(definition), next);
  }
}
