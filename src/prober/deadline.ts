import type { Clock, StopTimer } from '../base/clock.ts';

/**
 * Calls `fn` after `ms`, unless stopped before. What came in until then is heard first: that this process was held up is not the fault of
 * the pod that is probed.
 */
export function deadline(clock: Clock, ms: number, fn: () => void): StopTimer {
  let last: NodeJS.Immediate | undefined;
  const stop = clock.timer(ms, () => {
    last = setImmediate(fn);
  });
  return () => {
    stop();
    clearImmediate(last);
  };
}
