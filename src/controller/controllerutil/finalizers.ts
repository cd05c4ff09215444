import { AgentError, messageOf } from '../../base/errors.ts';
import type { KubeObject } from '../types.ts';

/**
 * Adds a finalizer: a deleted object stays until it is removed. Returns whether it was missing.
 *
 * @example
 * if (addFinalizer(room, 'example.com/keys')) await client.update(Room, room);
 */
export function addFinalizer(object: KubeObject, name: string): boolean {
  if (containsFinalizer(object, name)) return false;
  const metadata = (object.metadata ??= {});
  metadata.finalizers = [...(metadata.finalizers ?? []), name];
  return true;
}

/**
 * Removes a finalizer, each time it is there. Returns whether it was there.
 *
 * @example
 * if (removeFinalizer(room, 'example.com/keys')) await client.update(Room, room);
 */
export function removeFinalizer(object: KubeObject, name: string): boolean {
  if (!object.metadata || !containsFinalizer(object, name)) return false;
  object.metadata.finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== name);
  return true;
}

export const containsFinalizer = (object: KubeObject, name: string): boolean =>
  object.metadata?.finalizers?.includes(name) ?? false;

/** What finalizers changed of an object. */
export interface FinalizerResult {
  /** Whether anything but the status changed, so that the object must be updated. */
  readonly updated: boolean;
  readonly statusUpdated: boolean;
}

/** Cleans up what an object needed. It may change the object, and reports what it changed. */
export type Finalizer<T extends KubeObject = KubeObject> = (
  object: T,
  signal?: AbortSignal,
) => Promise<Partial<FinalizerResult> | undefined> | Partial<FinalizerResult> | undefined;

/** Finalizers runs the finalizers of a kind by name. */
export interface Finalizers<T extends KubeObject = KubeObject> {
  /** @throws when the name is registered already */
  register(name: string, finalizer: Finalizer<T>): void;
  /**
   * Adds the missing finalizers to an object; of one that is being deleted, runs those that it has and removes each that succeeded. Changes
   * the object only: write it when the result says so.
   *
   * @throws {FinalizeError} when finalizers failed; the others have run
   */
  finalize(object: T, signal?: AbortSignal): Promise<FinalizerResult>;
}

/**
 * Finalizers failed; `errors` holds the reasons and `result` what was changed nevertheless.
 *
 * @example
 * if (reason instanceof FinalizeError && reason.result.updated) await client.update(Room, room);
 */
export class FinalizeError extends AggregateError {
  override readonly name = 'FinalizeError';
  readonly result: FinalizerResult;

  constructor(errors: readonly Error[], result: FinalizerResult) {
    super(errors, errors.map(({ message }) => message).join(', '));
    this.result = result;
  }
}

/**
 * Returns an empty registry of finalizers.
 *
 * @example
 * const cleanUp = finalizers<Memcached>();
 * cleanUp.register('cache.example.com/disk', async (memcached) => { await deleteDisk(memcached); });
 * const { updated } = await cleanUp.finalize(memcached, signal);
 */
export function finalizers<T extends KubeObject = KubeObject>(): Finalizers<T> {
  const registered = new Map<string, Finalizer<T>>();
  return {
    register: (name, finalizer) => {
      if (registered.has(name))
        throw new AgentError('already_exists', `finalizer for key "${name}" already registered`);
      registered.set(name, finalizer);
    },
    finalize: async (object, signal) => {
      const errors: Error[] = [];
      let result: FinalizerResult = { updated: false, statusUpdated: false };
      const add = ({ updated = false, statusUpdated = false }: Partial<FinalizerResult> = {}): void => {
        result = { updated: result.updated || updated, statusUpdated: result.statusUpdated || statusUpdated };
      };
      for (const [name, finalizer] of registered) {
        if (object.metadata?.deletionTimestamp === undefined) {
          add({ updated: addFinalizer(object, name) });
          continue;
        }
        if (!containsFinalizer(object, name)) continue;
        try {
          add(await finalizer(object, signal));
          add({ updated: removeFinalizer(object, name) });
        } catch (reason) {
          if (reason instanceof FinalizeError) add(reason.result);
          errors.push(new Error(`finalizer "${name}" failed: ${messageOf(reason)}`, { cause: reason }));
        }
      }
      if (errors.length > 0) throw new FinalizeError(errors, result);
      return result;
    },
  };
}
