/** Delays of the restart back-off, ms. */
export interface RestartBackOff {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The kubelet's: 10 s, doubled each time, at most 5 minutes. */
export const kubeletBackOff: RestartBackOff = { initialMs: 10_000, maxMs: 300_000 };

/** Returns the delay between the last exit and the next start of a container: 0 for the first restart, then increasing. */
export function restartDelayMs(restartCount: number, { initialMs, maxMs }: RestartBackOff): number {
  if (restartCount === 0) return 0;
  return Math.min(initialMs * 2 ** Math.min(restartCount - 1, 30), maxMs);
}
