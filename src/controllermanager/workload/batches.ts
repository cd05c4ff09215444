/** The most objects that one reconcile creates or deletes. */
export const burst = 500;

/** The outcome of several calls. */
export interface BatchResult {
  readonly done: number;
  readonly error?: unknown;
}

/**
 * Calls `work` for each index, 1 at first, then twice as many at once, as long as all succeed: what fails for all fails once
 * (`slowStartBatch`).
 */
export async function slowStart(count: number, work: (index: number) => Promise<void>): Promise<BatchResult> {
  let done = 0;
  for (let size = 1; done < count; size *= 2) {
    const batch = Math.min(size, count - done);
    const results = await Promise.allSettled(Array.from({ length: batch }, (_, at) => work(done + at)));
    done += results.filter(({ status }) => status === 'fulfilled').length;
    const failed = results.find((one) => one.status === 'rejected');
    if (failed) return { done, error: failed.reason as unknown };
  }
  return { done };
}
