import { messageOf } from './errors.ts';
import type { LogFields } from './logger.ts';
import { LRUCache } from 'lru-cache';

/** The maximum number of keys with an error. */
const maxFaults = 1000;

/**
 * FaultLog gives the log fields of an error that is likely to come again: its text each time, its stack only the first time in a row. Use
 * one per place that logs, with a key for what failed there, for example a pod's UID.
 *
 * @example
 * logger.error('pod cannot be inspected', { uid, ...faults.fieldsOf(uid, error) }); // { err, stack }
 * logger.error('pod cannot be inspected', { uid, ...faults.fieldsOf(uid, error) }); // the same again: { err }
 * faults.clear(uid); // it works again: the next error comes with its stack
 */
export class FaultLog {
  /** Made at the first error: it reserves room for all its keys, and most places never see one. */
  #last: LRUCache<string, string> | undefined;

  /** Returns `err`, the error's text, and `stack` unless the last error of `key` had the same text. */
  fieldsOf(key: string, reason: unknown): LogFields {
    const err = messageOf(reason);
    this.#last ??= new LRUCache<string, string>({ max: maxFaults });
    const again = this.#last.get(key) === err;
    this.#last.set(key, err);
    const stack = again ? undefined : stackOf(reason);
    return { err, ...(stack !== undefined && { stack }) };
  }

  /** Removes the error of `key`; call it when the operation succeeds again. */
  clear(key: string): void {
    this.#last?.delete(key);
  }
}

/** The stack of an error, or of the error that caused it, where the outer one only adds words. */
function stackOf(reason: unknown): string | undefined {
  if (!(reason instanceof Error)) return undefined;
  return (reason.cause instanceof Error ? reason.cause.stack : undefined) ?? reason.stack;
}
