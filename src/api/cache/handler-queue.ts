import { storeKey } from './store.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { Delta } from './deltas.ts';

/**
 * InformerHandler receives the changes of an informer. A method that returns a promise is awaited before the next change, and waiting
 * changes of one object are merged into one, from the last state that the handler received to the newest. A method that returns nothing
 * is called at once for each change.
 */
export interface InformerHandler<T extends KubeObject> {
  /** @param initial whether the object existed before the handler was added */
  added?(object: T, initial: boolean): void | Promise<void>;
  updated?(old: T, object: T): void | Promise<void>;
  /** @param stale the deletion itself was missed; `last` may lack later changes */
  deleted?(last: T, stale: boolean): void | Promise<void>;
}

/** HandlerQueue holds one handler's pending changes; its size is bounded by the number of objects, however slow the handler is. */
export class HandlerQueue<T extends KubeObject> {
  readonly #handler: InformerHandler<T>;
  readonly #onError: (reason: unknown) => void;
  readonly #waiting = new Map<string, Delta<T>>();
  #busy = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(handler: InformerHandler<T>, onError: (reason: unknown) => void) {
    this.#handler = handler;
    this.#onError = onError;
  }

  /** The number of objects with undelivered changes. */
  get length(): number {
    return this.#waiting.size + (this.#busy ? 1 : 0);
  }

  push(delta: Delta<T>): void {
    if (this.#closed) return;
    if (!this.#busy && this.#waiting.size === 0) {
      this.#deliver(delta);
      return;
    }
    const key = `${storeKey(delta.object)} ${delta.object.metadata?.uid ?? ''}`;
    const merged = merge(this.#waiting.get(key), delta);
    if (merged) this.#waiting.set(key, merged);
    else this.#waiting.delete(key);
  }

  /** Resolves once the handler has received everything queued before. */
  async drained(): Promise<void> {
    if (this.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
    });
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#settle();
  }

  #deliver(delta: Delta<T>): void {
    const pending = this.#call(delta);
    if (!pending) return;
    this.#busy = true;
    void pending.catch(this.#onError).then(() => {
      this.#busy = false;
      this.#next();
    });
  }

  #next(): void {
    for (const [key, delta] of this.#waiting) {
      this.#waiting.delete(key);
      this.#deliver(delta);
      if (this.#busy) return;
    }
    this.#settle();
  }

  #settle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  #call(delta: Delta<T>): Promise<void> | undefined {
    const handler = this.#handler;
    try {
      switch (delta.type) {
        case 'added':
          return handler.added?.(delta.object, delta.initial) ?? undefined;
        case 'updated':
          return handler.updated?.(delta.old, delta.object) ?? undefined;
        case 'deleted':
          return handler.deleted?.(delta.object, delta.stale) ?? undefined;
      }
    } catch (reason) {
      this.#onError(reason);
      return undefined;
    }
  }
}

/** Merges two changes of one object with the same UID; undefined when it was created and deleted in between. */
function merge<T>(first: Delta<T> | undefined, second: Delta<T>): Delta<T> | undefined {
  if (!first) return second;
  if (second.type === 'deleted') return first.type === 'added' ? undefined : second;
  if (first.type === 'added') return { ...first, object: second.object };
  if (first.type === 'updated') return { type: 'updated', old: first.old, object: second.object };
  return second.type === 'added' ? { type: 'updated', old: first.object, object: second.object } : second;
}
