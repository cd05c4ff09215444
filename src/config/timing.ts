import { Observable } from 'rxjs';
import type { Clock } from '../base/clock.ts';

/** Emits once after `ms` on the clock, and completes. */
export function after(clock: Pick<Clock, 'timer'>, ms: number): Observable<void> {
  return new Observable((listener) =>
    clock.timer(ms, () => {
      listener.next();
      listener.complete();
    }),
  );
}

/** Emits at once, and again after each `periodMs` on the clock. */
export function every(clock: Pick<Clock, 'timer'>, periodMs: number): Observable<void> {
  return new Observable((listener) => {
    let stop: () => void = () => undefined;
    const tick = (): void => {
      // Scheduled before the emission, so that a subscriber that ends here cancels it.
      stop = clock.timer(periodMs, tick);
      listener.next();
    };
    tick();
    return () => {
      stop();
    };
  });
}
