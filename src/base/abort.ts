/** Whether `signal` has aborted by now; unlike the bare property it is never taken for unchanged across an `await`. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
