import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  sameJson,
  valueAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { conflict, type Subject } from '../../apimachinery/status-error.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { WriteContext } from '../request/write-context.ts';
import type { Entry, Store } from '../storage/store.ts';
import { bump, type DeleteOptions, finalizersFor, gracefully } from './deletion.ts';
import type { Strategy } from './strategy.ts';

export const subjectOf = (kind: Kind, name: string): Subject => ({
  kind: kind.resource,
  name,
  ...(kind.group && { group: kind.group }),
});

/** Result of a DELETE: `deleted` is false while a grace period or finalizers hold the object. */
export interface Deleted {
  readonly object: JsonObject;
  readonly deleted: boolean;
}

/** A deletion in progress. */
export interface PendingDelete {
  /** The object to delete. */
  readonly old: JsonObject;
  /** @returns undefined when the object has changed meanwhile: start again @throws {StatusError} */
  commit(): Deleted | undefined;
}

/** Remover deletes objects of one kind by its rules: grace period, finalizers, side effects. */
export class Remover {
  readonly #strategy: Strategy;
  readonly #store: Store;

  constructor(strategy: Strategy, store: Store) {
    this.#strategy = strategy;
    this.#store = store;
  }

  /** Deletes by the kind's rules; `deleted` is false while a grace period or finalizers hold the object. */
  delete(entry: Entry, options: DeleteOptions, context: WriteContext): Deleted {
    this.checkPreconditions(entry, options);
    this.#strategy.checkDelete?.(entry.object, context);
    if (this.#strategy.beginDelete) {
      const begun = this.#strategy.beginDelete(entry.object, options, context);
      if (begun !== entry.object) return this.#hold(entry, begun, context, false);
    }
    if (this.#strategy.grace) return this.#deleteGracefully(entry, options, context);
    const finalizers = finalizersFor(entry.object, options, this.#strategy.orphansDependents);
    const metadata = objectAt(entry.object, 'metadata');
    if (finalizers.length > 0 || listAt(objectAt(entry.object, 'spec'), 'finalizers').length > 0) {
      const marked = metadata['deletionTimestamp'] !== undefined;
      return this.#hold(
        entry,
        withMetadata(entry.object, {
          finalizers,
          ...(!marked && {
            deletionTimestamp: seconds(context.now),
            deletionGracePeriodSeconds: 0,
            ...bump(entry.object),
          }),
        }),
        context,
        false,
      );
    }
    return this.#remove(entry, entry.object, context);
  }

  /** @throws {StatusError} 409 when a precondition on UID or version fails */
  checkPreconditions(entry: Entry, options: DeleteOptions): void {
    const name = nameOf(entry.object);
    const uid = valueAt(entry.object, 'metadata', 'uid');
    const refuse = (what: string, expected: string, found: string): never => {
      if (this.#strategy.kind.kind === 'Namespace')
        throw conflict(
          subjectOf(this.#strategy.kind, name),
          `Precondition failed: ${what} in precondition: ${expected}, ${what} in object meta: ${found}`,
        );
      throw conflict(
        { ...subjectOf(this.#strategy.kind, name), kind: this.#strategy.kind.kind },
        `the ${what} in the precondition (${expected}) does not match the ${what} in record (${found}). The object might have been ${what === 'UID' ? 'deleted and then recreated' : 'modified'}`,
      );
    };
    if (options.uid !== undefined && options.uid !== uid) refuse('UID', options.uid, String(uid));
    if (options.resourceVersion !== undefined && options.resourceVersion !== String(entry.version))
      refuse('ResourceVersion', options.resourceVersion, String(entry.version));
  }

  #deleteGracefully(entry: Entry, options: DeleteOptions, context: WriteContext): Deleted {
    const grace = this.#strategy.grace?.(entry.object, options.gracePeriodSeconds) ?? 0;
    const { changes, over } = gracefully(entry.object, options, grace, context.now);
    if (Object.keys(changes).length === 0) return { object: this.#served(entry), deleted: false };
    return this.#hold(entry, withMetadata(entry.object, changes), context, over);
  }

  /** Marks the object for deletion, and removes it when nothing holds it. */
  #hold(entry: Entry, marked: JsonObject, context: WriteContext, thenRemove: boolean): Deleted {
    if (context.dryRun || sameJson(marked, entry.object))
      return { object: this.#view(marked), deleted: thenRemove };
    const stored = this.#store.put(this.#strategy.kind.storage, marked);
    if (!thenRemove) return { object: this.#served(stored), deleted: false };
    return this.#remove(stored, stored.object, context);
  }

  #view(object: JsonObject): JsonObject {
    return this.#strategy.fromStorage?.(object) ?? object;
  }

  #served({ object }: Entry): JsonObject {
    return this.#view(object);
  }

  #remove(entry: Entry, last: JsonObject, context: WriteContext): Deleted {
    if (context.dryRun) return { object: this.#served(entry), deleted: true };
    const gone = this.#store.delete(this.#strategy.kind.storage, entry.key, last) ?? entry;
    this.#strategy.afterDelete?.(last, context);
    return { object: this.#served(gone), deleted: true };
  }
}
