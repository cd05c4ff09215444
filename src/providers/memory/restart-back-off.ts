/** Spans of the back-off between restarts, ms. */
export interface RestartBackOff {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The kubelet's: 10 s, doubled each time, 5 minutes at most. */
export const kubeletBackOff: RestartBackOff = { initialMs: 10_000, maxMs: 300_000 };

/** How long after its last end a container waits for its next start: not at all the first time, then longer each time. */
export function restartDelayMs(restartCount: number, { initialMs, maxMs }: RestartBackOff): number {
  if (restartCount === 0) return 0;
  return Math.min(initialMs * 2 ** Math.min(restartCount - 1, 30), maxMs);
}
