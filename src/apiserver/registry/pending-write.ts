import type { JsonObject } from '../../apimachinery/json.ts';

/**
 * PendingWrite is a write in progress. Mutating admission may change `object`, `finish` prepares and validates the result, validating
 * admission judges that, and `commit` stores it.
 */
export interface PendingWrite {
  readonly operation: 'CREATE' | 'UPDATE';
  /** The sent object, with defaults and owners. */
  readonly object: JsonObject;
  /** The stored object; absent for a new one. */
  readonly old?: JsonObject;
  /** @throws {StatusError} for an invalid object */
  finish(admitted: JsonObject): JsonObject;
  /** Returns what validating admission sees of the result, where that is not the object itself. */
  shown?(finished: JsonObject): JsonObject;
  /** @param effects side effects of admission @returns undefined when the stored object has changed meanwhile: start again */
  commit(finished: JsonObject, effects?: () => void): Written | undefined;
}

/** The result of a write. */
export interface Written {
  readonly object: JsonObject;
  readonly created: boolean;
}

/** Performs a write without admission. */
export const performed = (write: PendingWrite): Written => {
  const written = write.commit(write.finish(write.object));
  if (!written) throw new Error('a write that is begun and stored at once found its object changed');
  return written;
};
