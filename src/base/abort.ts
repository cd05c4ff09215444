/** True once `signal` has aborted. Unlike the property, TypeScript does not assume its value unchanged across an `await`. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as it aborts; `work` itself goes on then, and its failure is ignored.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
