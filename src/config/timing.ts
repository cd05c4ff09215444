import { Observable } from 'rxjs';
import type { Clock } from '../base/clock.ts';

/** Tells once after `ms` on the clock, and completes. */
export function after(clock: Pick<Clock, 'timer'>, ms: number): Observable<void> {
  return new Observable((listener) =>
    clock.timer(ms, () => {
      listener.next();
      listener.complete();
    }),
  );
}

/** Tells at once, and again after each `periodMs` on the clock. */
export function every(clock: Pick<Clock, 'timer'>, periodMs: number): Observable<void> {
  return new Observable((listener) => {
    let stop: () => void = () => undefined;
    const tick = (): void => {
      // planned before it is told, so that a listener which ends here ends the next one too
      stop = clock.timer(periodMs, tick);
      listener.next();
    };
    tick();
    return () => {
      stop();
    };
  });
}
