import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Runnable } from '../../controller/runnable.ts';

/** Returns a part of a manager that does its work again and again, `periodMs` after its end. A failure is logged. */
export function periodic(
  work: (signal: AbortSignal) => Promise<void>,
  { name, periodMs, clock, logger }: PeriodicOptions,
): Runnable {
  return {
    start: async (signal) => {
      const isStopped = (): boolean => signal.aborted;
      while (!isStopped())
        try {
          await work(signal);
          await clock.sleep(periodMs, signal);
        } catch (reason) {
          if (isStopped()) return;
          logger.warn('a controller has failed and tries again', {
            controller: name,
            err: messageOf(reason),
          });
          await clock.sleep(periodMs, signal).catch(() => undefined);
        }
    },
  };
}

interface PeriodicOptions {
  readonly name: string;
  readonly periodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}
