/** True once `signal` has aborted. Unlike the property, TypeScript does not assume its value unchanged across an `await`. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
